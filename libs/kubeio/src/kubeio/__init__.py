"""Async access to the Kubernetes API: client, errors, discovery, watch, informer.

Import from the modules: ``connection.config`` → ``client`` → ``discovery``, ``cache.informer``.
``errors`` and ``resource`` are cheap and pull in no HTTP, which is why nothing is exported here.
The package knows nothing of KUDO.
"""
