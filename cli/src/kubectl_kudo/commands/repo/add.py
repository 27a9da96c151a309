"""`kubectl kudo repo add`: adds a repository to the list of the user."""

import asyncio
from urllib.parse import urlsplit

from kubectl_kudo.repositories.home import home_folder, load_settings, save_settings
from kubectl_kudo.repositories.repository import client_of
from kubectl_kudo.repositories.urls import fault_of, shown_url
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError, describe
from kubectl_kudo.session.output import say, talk
from kudo.api.problems import InvalidInput
from kudo.packages.repositories.settings import Repository


def run(args: Args) -> None:
    """Add a repository, unless its index cannot be read.

    Raises:
        CliError: it cannot be read, or the URL is none.
        InvalidInput: there is a repository of that name.
    """
    if len(args.arguments) != 2 or not all(args.arguments):
        raise UsageError("this command needs 2. name and url of the operator repository")
    name, url = args.arguments
    home = home_folder(args)
    settings = load_settings(home).with_repository(name, url)
    headline = f'looks like "{shown_url(url)}" is not a valid operator repository or cannot be '
    fault = _fault(name, url)
    if fault:
        raise CliError(f"{headline}reached: {fault}")
    if not args.skip_check:
        try:
            asyncio.run(client_of(args, url).index())
        except (CliError, InvalidInput) as error:
            raise CliError(f"{headline}reached: {describe(error)}") from error
    save_settings(home, settings)
    say(f'"{name}" has been added to your repositories')
    if settings.context != name:
        talk(f"To use it by default: kubectl kudo repo context {name}; else add --repo {name}")


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


def _fault(name: str, url: str) -> str:
    if not name.isprintable() or name.startswith("-"):
        return "the name must be printable and must not begin with -"
    fault = fault_of(url)
    if fault:
        return fault
    if Repository(name, url).is_abandoned:
        return "it is the address of the former project, and nobody answers for who owns it now"
    if urlsplit(url).username is not None:
        return "the list is no place for credentials; set KUDO_REPO_USERNAME and KUDO_REPO_PASSWORD"
    return ""
