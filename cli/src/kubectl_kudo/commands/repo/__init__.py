"""`kubectl kudo repo`: the repositories that packages are installed from."""
