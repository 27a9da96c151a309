"""The commands on repositories of packages, and downloading from them."""
