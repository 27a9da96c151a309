"""Async access to the Kubernetes API: client, errors, discovery, watch, informer.

Import from the modules: ``config`` → ``client`` → ``discovery``, ``informer``. ``errors`` and
``resource`` are cheap and pull in no HTTP. The package knows nothing of KUDO.
"""
