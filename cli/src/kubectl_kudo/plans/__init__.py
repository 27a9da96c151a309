"""The commands that show, run, cancel and wait for plans of an Instance."""
