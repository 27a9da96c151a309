"""Every command of `kubectl kudo`: help, output, errors, exit codes, writes."""

from collections.abc import Iterator, Mapping

from tests.unit.record.commands import authoring, changing, cluster, showing
from tests.unit.record.commands.cases import Case, Cases, text_of
from tests.unit.record.commands.site import Site, site

_GROUPS = {
    "showing": showing.COMMANDS,
    "changing": changing.COMMANDS,
    "authoring": authoring.COMMANDS,
    "cluster": cluster.COMMANDS,
}


def files() -> Iterator[tuple[str, str]]:
    """Yield name and text of a file for each command."""
    with site() as found:
        for commands in _GROUPS.values():
            yield from _of(commands, found)
    with site(kudo=False) as found:
        yield from _of(cluster.WITHOUT_KUDO, found)


def _of(commands: Mapping[str, Cases], found: Site) -> Iterator[tuple[str, str]]:
    for name, cases in commands.items():
        if name not in {"kudo", *cluster.WITHOUT_KUDO}:
            cases = [Case(f"{name} --help", global_flags=False), *cases]
        yield f"commands/{name.replace(' ', '-')}.txt", text_of(cases, found)


def recorded() -> set[str]:
    """Return the commands that have a file."""
    return {name for commands in _GROUPS.values() for name in commands}
