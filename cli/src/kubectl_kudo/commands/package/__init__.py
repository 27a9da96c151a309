"""`kubectl kudo package`: write, check and archive packages; no cluster is contacted."""
