"""What the authors of packages use, beside `kudo.verification`; no cluster is needed."""
