"""`kubectl kudo plan`: the runs of plans."""
