"""Adds a maintainer to `operator.yaml`."""

from kubectl_kudo.authoring.adding.target import target_of
from kubectl_kudo.authoring.asking import ask, needed
from kubectl_kudo.authoring.checks import email_fault
from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError
from kudo.authoring.edit import Addition
from kudo.packages.files import OPERATOR_FILE


def add_maintainer(args: Args, *, asked: bool) -> None:
    """Add a maintainer of the command line, or of the answers.

    Raises:
        CliError: the address is not valid, or the package cannot be changed.
    """
    target = target_of(args)
    name, email = args.arguments or ("", "")
    if asked:
        name = ask("Maintainer Name", name, needed)
        email = ask("Maintainer Email", email, email_fault)
    fault = needed(name) or email_fault(email)
    if fault:
        raise CliError(fault)
    addition = Addition("maintainers", {"name": name, "email": email})
    text = target.with_additions(OPERATOR_FILE, addition)
    target.write({OPERATOR_FILE: text}, f"maintainer {name}")
