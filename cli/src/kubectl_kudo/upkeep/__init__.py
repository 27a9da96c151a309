"""The commands that ask the reconciler to record what an Instance owns, or to delete orphans."""
