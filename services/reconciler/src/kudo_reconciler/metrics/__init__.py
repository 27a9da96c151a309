"""The series that Prometheus scrapes, and the values of their labels."""
