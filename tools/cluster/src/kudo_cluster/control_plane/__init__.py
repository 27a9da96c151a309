"""The control plane: addresses, certificates, kubeconfigs, components and their start."""
