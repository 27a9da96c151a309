"""The serving certificate: loaded from files, or made and renewed by the webhook itself.

`served` has the certificate for new handshakes. It comes from `files`, or from `rotation`, which
renews one of an own authority, for clusters without cert-manager. `files` also has the authority
that client certificates need.
"""
