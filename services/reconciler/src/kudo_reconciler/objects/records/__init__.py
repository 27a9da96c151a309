"""What Instances have applied: the record of it, and what is left behind."""
