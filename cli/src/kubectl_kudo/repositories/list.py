"""`kubectl kudo repo list`: prints the repositories of the user."""

from kubectl_kudo.core.arguments import OUTPUT, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import no_arguments


def run(args: Args) -> None:
    no_arguments("repo list", args.arguments)
    from kubectl_kudo.repositories.change_settings import show

    show(args)


COMMAND = Command(
    run,
    flags=(Flag(OUTPUT.names, "yaml or json: print the list in this format", OUTPUT.value),),
    examples=(("All repositories", "repo list"),),
)
