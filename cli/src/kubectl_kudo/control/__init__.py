"""The commands that pause and resume an Instance, and those that ask the reconciler for upkeep."""
