"""The admission webhook of KUDO: judges changes of Instances and schedules their plans.

The rules live in `kudo.admission`; this package reads AdmissionReviews, finds OperatorVersions,
and answers in time. Order of reading: `app` wires, `routes` declares the web application,
`admission` handles a request, `reviewing` decides, `answers` writes what was decided or went wrong,
`versions` finds OperatorVersions, `certificates` keeps TLS alive.
"""
