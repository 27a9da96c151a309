"""The commands that a message about an Instance names: how to go on, and how to remove it."""


def after_waiting(
    key: str, *, deleting: bool = False, cancelled: bool = False, suspended: bool = False
) -> str:
    """Return what becomes of the run that a command stopped waiting for.

    Args:
        key: `namespace/name` of the Instance.
        deleting: Whether the command waited for its deletion.
        cancelled: Whether the command waited for the end of a run that it cancelled.
        suspended: Whether the Instance is suspended.
    """
    flags = flags_of(key)
    if deleting:
        return f"The deletion goes on in the cluster.\n{see_why(key)}"
    if cancelled:
        return f"The plan stays cancelled.\nSee its end: kubectl kudo plan wait {flags}"
    goes_on = (
        f"The plan goes on when the instance is resumed: kubectl kudo resume {flags}\n"
        if suspended
        else "The plan goes on in the cluster.\n"
    )
    return (
        f"{goes_on}{see_why(key)}\nSee it: kubectl kudo plan wait {flags}\n"
        f"Cancel it: kubectl kudo plan cancel {flags}"
    )


def see_why(key: str) -> str:
    """Return the line that names the command which tells why an Instance is not ready.

    Args:
        key: `namespace/name` of the Instance.
    """
    namespace, _, name = key.partition("/")
    return f"See why: kubectl kudo why {name} -n {namespace}"


def removal(key: str, *, operator: bool) -> str:
    """Return the commands that remove an Instance.

    Args:
        key: `namespace/name` of the Instance.
        operator: Whether to remove its operator as well, if nobody uses it.
    """
    namespace = key.partition("/")[0]
    lines = [f"kubectl kudo uninstall {flags_of(key)} --wait"]
    if operator:
        lines.append(f"kubectl kudo uninstall --all-unused -n {namespace}")
    return "\n".join(f"  {line}" for line in lines)


def flags_of(key: str) -> str:
    """Return the flags that name an Instance."""
    namespace, _, name = key.partition("/")
    return f"--instance {name} -n {namespace}"
