"""What is done for the lines of a suite: where it runs, and what takes the place of a command."""
