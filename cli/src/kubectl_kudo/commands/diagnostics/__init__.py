"""`kubectl kudo diagnostics`: what a bug report needs."""
