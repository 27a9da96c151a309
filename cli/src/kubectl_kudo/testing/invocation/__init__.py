"""What the flags and the suite file of a run ask for together."""
