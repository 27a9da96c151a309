"""Values of parameters, as text: whether they fit a type, and their fingerprints."""
