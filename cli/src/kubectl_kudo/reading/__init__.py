"""What is read of Instances for the commands: state, runs, waiting steps, objects, events."""
