"""The nodes of a cluster: simulated by kwok, or a real one with containerd and kubelet."""
