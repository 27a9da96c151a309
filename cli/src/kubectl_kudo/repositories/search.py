"""`kubectl kudo search`: lists packages of a repository."""

from kubectl_kudo.core.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1:
        raise UsageError("this command must have only 1 search criterion")
    from kubectl_kudo.repositories.search_index import search

    search(args, args.arguments[0])


COMMAND = Command(
    run,
    "<text>",
    (
        REPOSITORY[0],
        Flag(("--all-versions", "-a"), "list all versions, with pre-releases", default=False),
        Flag(OUTPUT.names, "yaml or json: print the versions in this format", OUTPUT.value),
    ),
    more="An empty text lists all packages. Versions that were removed are not listed.",
    examples=(
        ("The newest version of each package", 'search ""'),
        ("All versions of one", "search kafka -a"),
    ),
)
