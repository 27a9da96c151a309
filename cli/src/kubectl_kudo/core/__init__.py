"""What every command uses: flags, output, errors, the connection to a cluster, and dry runs."""
