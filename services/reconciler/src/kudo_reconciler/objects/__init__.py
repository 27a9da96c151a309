"""The objects of tenants in the cluster: applied, watched, owned, and what refused them."""
