"""Files and URLs that are read when a suite begins to run."""
