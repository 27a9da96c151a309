"""Shows and changes the list of repositories."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.cells import printable
from kubectl_kudo.core.errors import CliError, describe
from kubectl_kudo.core.output import check_format, one, say, talk
from kubectl_kudo.core.table import table
from kubectl_kudo.repositories.home import home_folder, load_settings, save_settings
from kubectl_kudo.repositories.urls import fault_of, shown_place, shown_url
from kudo.problems import InvalidInput
from kudo.repositories.settings import BUILT_IN, Repository


def add(args: Args, name: str, url: str) -> None:
    """Add a repository, unless its index cannot be read.

    Raises:
        CliError: it cannot be read, or the URL is none.
        InvalidInput: there is a repository of that name.
    """
    home = home_folder(args)
    settings = load_settings(home).with_repository(name, url)
    headline = f'looks like "{shown_url(url)}" is not a valid operator repository or cannot be '
    fault = _fault(name, url)
    if fault:
        raise CliError(f"{headline}reached: {fault}")
    if not args.skip_check:
        try:
            _read_index(args, url)
        except (CliError, InvalidInput) as error:
            raise CliError(f"{headline}reached: {describe(error)}") from error
    save_settings(home, settings)
    say(f'"{name}" has been added to your repositories')
    if settings.context != name:
        talk(f"To use it by default: kubectl kudo repo context {name}; else add --repo {name}")


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


def _read_index(args: Args, url: str) -> None:
    import asyncio

    from kubectl_kudo.repositories.repository import client_of

    asyncio.run(client_of(args, url).index())


def show(args: Args) -> None:
    """Print the repositories; warn of one that is not used."""
    check_format(args.output)
    settings = load_settings(home_folder(args))
    context = settings.context or BUILT_IN
    if args.output:
        listed = [{"name": one.name, "url": shown_url(one.url)} for one in settings.all()]
        print(one({"context": context, "repositories": listed}, args.output), end="")
    else:
        rows = [
            ("*" * (each.name == context) + printable(each.name), shown_place(each))
            for each in settings.all()
        ]
        print(table([("NAME", "URL"), *rows]), end="")
    for each in settings.repositories:
        if each.is_abandoned:
            talk(f"Warning: {_abandoned(each)}")


def _abandoned(repository: Repository) -> str:
    from kubectl_kudo.repositories.repository import abandoned

    return abandoned(repository)


def remove(args: Args, names: Sequence[str]) -> None:
    """Remove repositories; those before one that does not exist stay removed.

    Raises:
        InvalidInput: there is none of a name.
    """
    home = home_folder(args)
    settings = load_settings(home)
    for name in names:
        before, settings = settings, settings.without(name)
        save_settings(home, settings)
        say(f'"{name}" has been removed from your repositories')
        if settings.context != before.context:
            talk(f'"{BUILT_IN}" is now the repository that commands use by default')


def set_context(args: Args, name: str) -> None:
    """Make a repository the one that commands use by default.

    Raises:
        InvalidInput: there is none of that name.
    """
    home = home_folder(args)
    save_settings(home, load_settings(home).with_context(name))
