"""The admission webhook of KUDO: judges changes of Instances and schedules their plans.

The rules live in `kudo.admission`; this package reads AdmissionReviews, finds OperatorVersions,
and answers in time. Order of reading: `app` wires, `routes` handles a request, `envelope` reads
and writes the wire, `versions` finds OperatorVersions, `certificate` keeps TLS alive.
"""
