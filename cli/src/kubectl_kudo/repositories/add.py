"""`kubectl kudo repo add`: adds a repository to the list of the user."""

from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 2 or not all(args.arguments):
        raise UsageError("this command needs 2. name and url of the operator repository")
    from kubectl_kudo.repositories.change_settings import add

    add(args, *args.arguments)


COMMAND = Command(
    run,
    "<name> <url>",
    (Flag(("--skip-check", "-f"), "do not read the index of the repository", default=False),),
    more="The URL is that of the folder of index.yaml: https://, http:// or file://. Credentials "
    "do not\nbelong into it: they are read from KUDO_REPO_TOKEN, from KUDO_REPO_USERNAME and "
    "KUDO_REPO_PASSWORD,\nor from ~/.netrc.",
    examples=(
        ("A repository of one's own", "repo add own https://packages.example.org/v1"),
        ("A folder of packages", "repo add local file:///srv/packages"),
    ),
)
