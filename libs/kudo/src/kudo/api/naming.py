"""The names that the command line gives OperatorVersions and Instances."""


def operator_version_name(operator: str, version: str, app_version: str = "") -> str:
    """Return the object name that the CLI gives an OperatorVersion."""
    return "-".join(part for part in (operator, app_version, version) if part)


def default_instance_name(operator: str) -> str:
    return f"{operator}-instance"
