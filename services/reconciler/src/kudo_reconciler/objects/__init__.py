"""Objects of tenants in the cluster: applying, watching, ownership, API errors."""
