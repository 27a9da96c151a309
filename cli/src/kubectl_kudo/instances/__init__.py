"""What the commands that create, change and delete Instances share."""
