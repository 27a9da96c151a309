"""The admission webhook of KUDO: allows or denies changes of Instances and schedules their plans.

The rules are in `kudo.admission`; this package reads AdmissionReviews, finds OperatorVersions, and
answers in time. Order of reading: `app` starts and stops everything, `routes` declares the web
application and handles a request, `reviewing` decides, `answers` makes responses of decisions and
errors, `versions` finds OperatorVersions, `certificates` loads and renews the serving
certificate, `registration` fills in the webhook configurations.
"""
