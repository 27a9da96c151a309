"""`kubectl kudo init`: installs KUDO in a cluster, checks, upgrades and removes it."""
