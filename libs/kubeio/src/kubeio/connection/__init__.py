"""Connections to an API server: kubeconfig, credentials, TLS, HTTP, reports of requests."""
