"""`kubectl kudo rbac`: prints and checks the rights that plans need from their account."""
