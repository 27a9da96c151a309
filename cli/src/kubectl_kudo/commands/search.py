"""`kubectl kudo search`: lists packages of a repository."""

import asyncio
from collections.abc import Iterator, Sequence

from kubectl_kudo.repositories.repository import open_repository
from kubectl_kudo.session.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.session.blocks import Column, Table, printable
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import JsonObject, check_format, many, say, show
from kudo.packages.repositories.index import IndexEntry
from kudo.packages.repositories.versions import search

_COLUMNS = [
    Column(heading, kept=True)
    for heading in ("Name", "Operator Version", "App Version", "Description")
]
_DESCRIPTION = 60


def run(args: Args) -> None:
    """Print the packages whose name contains the criterion.

    Raises:
        CliError: the repository cannot be read.
        InvalidInput: its index is none.
    """
    if len(args.arguments) != 1:
        raise UsageError("this command must have only 1 search criterion")
    check_format(args.output)
    index = asyncio.run(open_repository(args, args.repo).index())
    groups = list(search(index, args.arguments[0], all_versions=args.all_versions))
    if args.output:
        print(many((_data(entry) for group in groups for entry in group), args.output), end="")
    elif groups:
        show(Table(_COLUMNS, [row for group in groups for row in _rows(group)], original=True))
    else:
        say("no operators found")


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


def _rows(group: Sequence[IndexEntry]) -> Iterator[tuple[str, ...]]:
    for number, entry in enumerate(group):
        deprecated = "(deprecated) " if entry.deprecated else ""
        texts = (entry.name, entry.operator_version, entry.app_version)
        name, version, app = (printable(text) for text in texts)
        description = printable(deprecated + entry.description, _DESCRIPTION)
        # Further versions of a package stand below its first line, as in KUDO 0.19.
        yield name if number == 0 else "", version, app, description


def _data(entry: IndexEntry) -> JsonObject:
    data: JsonObject = {
        "name": entry.name,
        "operatorVersion": entry.operator_version,
        "appVersion": entry.app_version,
        "description": entry.description,
        "deprecated": entry.deprecated,
        "digest": entry.digest,
    }
    return {key: value for key, value in data.items() if value}
