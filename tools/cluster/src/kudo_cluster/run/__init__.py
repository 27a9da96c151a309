"""`kudo-cluster run`: a cluster for as long as its input is open, and what it can be asked."""
