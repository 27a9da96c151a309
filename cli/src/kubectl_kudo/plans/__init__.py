"""The commands that show, run, await and cancel the plans of an Instance."""
