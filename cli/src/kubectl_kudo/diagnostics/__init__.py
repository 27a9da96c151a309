"""`kubectl kudo diagnostics`: collects what a bug report needs."""
