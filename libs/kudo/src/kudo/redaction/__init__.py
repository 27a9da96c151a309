"""Removes secrets from objects, texts and logs that leave the cluster."""
