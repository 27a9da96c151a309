"""What Instances do: their runs and the Instances they own, read, awaited and drawn."""
