"""The commands that suspend an Instance, so that nothing is sent for its runs, and resume it."""
