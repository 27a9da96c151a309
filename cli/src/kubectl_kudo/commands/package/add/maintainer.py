"""`kubectl kudo package add maintainer`: adds a maintainer to a package."""

from kubectl_kudo.commands.package.add.target import COMMON, HELP, target_of
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.asking import ask, email_fault, needed, on_terminal
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kudo.authoring.edit import Addition
from kudo.packages.files import OPERATOR_FILE


def run(args: Args) -> None:
    """Add a maintainer of the command line, or of the answers.

    Raises:
        CliError: the address is not valid, or the package cannot be changed.
    """
    asked = args.interactive or (not args.arguments and on_terminal())
    if len(args.arguments) not in ({0, 2} if asked else {2}):
        raise UsageError("expecting two arguments - name and email address")
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


COMMAND = Command(
    run,
    "[name email]",
    COMMON,
    more=HELP,
    examples=(("In operator.yaml", 'package add maintainer "Ada" ada@example.com'),),
)
