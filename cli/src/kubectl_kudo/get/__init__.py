"""The commands that show what is installed: get, describe."""
