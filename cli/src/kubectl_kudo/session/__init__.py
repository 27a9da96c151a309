"""What every command uses: flags, the connection, reports, output, and errors with exit codes."""
