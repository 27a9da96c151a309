"""The names of the Roles and bindings that give accounts their rights."""


def role_name(instance: str) -> str:
    """Return the name of an Instance's Role and RoleBinding."""
    return f"kudo-{instance}"


def cluster_role_name(namespace: str, instance: str) -> str:
    """Return a name that no two Instances share: names of Instances contain no colon."""
    return f"kudo:{namespace}:{instance}"
