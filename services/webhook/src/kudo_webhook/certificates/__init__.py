"""The serving certificate: loaded from files, or made and renewed by the webhook itself.

`served` has the certificate for new handshakes. It comes from `files`, or from the built-in
authority in `built_in`. `client_authority` is the authority that client certificates need.
"""
