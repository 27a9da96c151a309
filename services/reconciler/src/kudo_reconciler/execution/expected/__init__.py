"""What tasks are expected to apply, found out without running them."""
