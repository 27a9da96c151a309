"""The commands that create, change, delete and list Instances."""
