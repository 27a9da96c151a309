"""The certificate that is served, and where it comes from.

`served` is the certificate of new handshakes. It comes from `files` that somebody renews, or from
the authority of our own in `built_in`; `client_authority` says whose clients are answered.
"""
