"""`kubectl kudo test`: flags, suite file, the session of a run, its log, golden manifests."""
