"""The examples in the help of the commands, as they are typed after `kubectl kudo`."""

from collections.abc import Iterator

from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.session.command import Command, Group


def examples(*verbs: str) -> list[str]:
    """Return the examples of the commands and groups with these words; each has one at least."""
    return [line for verb in verbs for line in _of(ROOT.member(verb))]


def other_examples(*verbs: str) -> list[str]:
    """Return the examples of all other commands, also of those that are yet to come."""
    assert set(verbs) <= set(ROOT.members)
    return examples(*(verb for verb in ROOT.members if verb not in verbs))


def _of(found: Command | Group) -> Iterator[str]:
    if isinstance(found, Group):
        for word in found.members:
            yield from _of(found.member(word))
    else:
        assert found.examples, f"{found.name} has no example"
        yield from (line for _, line in found.examples)
