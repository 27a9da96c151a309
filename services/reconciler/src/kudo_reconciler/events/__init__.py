"""Events of Instances: queued by what reconciles, written by tasks of their own."""
