"""etcd and the components of Kubernetes: addresses, certificates, arguments, start."""
