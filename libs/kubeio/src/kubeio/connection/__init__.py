"""HTTP to an API server: kubeconfig, credentials, TLS, transport, reports of requests."""
