"""What `-v` shows on stderr, between the messages of the command."""
