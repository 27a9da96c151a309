"""`kubectl kudo search`: lists packages of a repository."""

import asyncio
from collections.abc import Iterator, Sequence

from kubectl_kudo.core.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.core.blocks import Column, Table
from kubectl_kudo.core.cells import printable
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError
from kubectl_kudo.core.output import JsonObject, check_format, many, say, show
from kubectl_kudo.repositories.repository import open_repository
from kudo.repositories import Entry, Index, is_prerelease, newest_first

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
    groups = list(found(index, args.arguments[0], all_versions=args.all_versions))
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


def found(index: Index, criterion: str, *, all_versions: bool) -> Iterator[list[Entry]]:
    """Yield the versions of each package, newest first, by name.

    Args:
        index: Where to look.
        criterion: A part of the name; letters of the other case do not match.
        all_versions: Whether to yield all versions and not only the newest: a release, if there
            is one.
    """
    for name in sorted(index.entries):
        if criterion not in name:
            continue
        versions = newest_first(entry for entry in index.entries[name] if not entry.removed)
        if all_versions or not versions:
            chosen = versions
        else:
            releases = (entry for entry in versions if not is_prerelease(entry))
            chosen = [next(releases, versions[0])]
        if chosen:
            yield chosen


def _rows(group: Sequence[Entry]) -> Iterator[tuple[str, ...]]:
    for number, entry in enumerate(group):
        deprecated = "(deprecated) " if entry.deprecated else ""
        texts = (entry.name, entry.operator_version, entry.app_version)
        name, version, app = (printable(text) for text in texts)
        yield name if number == 0 else "", version, app, _short(deprecated + entry.description)


def _short(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= _DESCRIPTION else f"{line[: _DESCRIPTION - 1]}…"


def _data(entry: Entry) -> JsonObject:
    data: JsonObject = {
        "name": entry.name,
        "operatorVersion": entry.operator_version,
        "appVersion": entry.app_version,
        "description": entry.description,
        "deprecated": entry.deprecated,
        "digest": entry.digest,
    }
    return {key: value for key, value in data.items() if value}
