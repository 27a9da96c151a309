"""The lives that namespaces of the matrix lead: plans of examples, one after another.

There are five stories: that of one Instance of examples/lifecycle, that of a tree of three
Instances of examples/parent-child, that of runs under control, that of what an Instance owns, and
that of Job tasks.
Every life of a story is the same, so that the state after a stage can be compared with that of a
life without faults. Each stage triggers one plan; at most one fault strikes in it, anywhere in the
tree.
"""

from tests.faults.cells.control import CONTROLLED
from tests.faults.cells.jobs import JOBS
from tests.faults.cells.owned import OWNED
from tests.faults.cells.story import Place, Stage, Story

_BOOK, _PAPER = "book", "paper"
_TREE = {
    "parent-child/child/grandchild": "0.1.0",
    "parent-child/child": "0.1.0",
    "parent-child": "0.1.0",
}
_NEXT = {"parent-child/child": "0.2.0", "parent-child": "0.2.0"}


async def _install(place: Place) -> None:
    await place.create_version("lifecycle/v1")
    await place.create_instance("lifecycle/v1", _BOOK)


async def _update(place: Place) -> None:
    await place.patch(_BOOK, {"parameters": {"title": "Visitors"}})


async def _counter(place: Place) -> None:
    await place.patch(_BOOK, {"parameters": {"counter": "true"}})


async def _backup(place: Place) -> None:
    await place.patch(_BOOK, {"planExecution": {"planName": "backup"}})


async def _upgrade(place: Place) -> None:
    await place.create_version("lifecycle/v2")
    version = {"operatorVersion": {"name": "guestbook-0.2.0"}}
    await place.patch(_BOOK, {**version, "parameters": {"maxLength": "100"}})


async def _delete(place: Place) -> None:
    await place.delete(_BOOK)


async def _install_tree(place: Place) -> None:
    for package, version in _TREE.items():
        await place.create_version(package, version)
    await place.create_instance("parent-child", _PAPER)


async def _update_tree(place: Place) -> None:
    await place.patch(_PAPER, {"parameters": {"city": "Paris"}})


async def _upgrade_tree(place: Place) -> None:
    for package, version in _NEXT.items():
        await place.create_version(package, version)
    await place.patch(_PAPER, {"operatorVersion": {"name": "newspaper-0.2.0"}})


async def _delete_tree(place: Place) -> None:
    await place.delete(_PAPER)


STORIES = (
    Story(
        _BOOK,
        (
            Stage("deploy", "deploy", _install),
            Stage("update", "update", _update),
            Stage("extras", "extras", _counter),
            # The first backup finds no Job to delete.
            Stage("first backup", "backup", _backup, faulty=False),
            Stage("backup", "backup", _backup),
            Stage("upgrade", "upgrade", _upgrade, told="ObjectsPruned"),
            Stage("cleanup", "cleanup", _delete),
        ),
    ),
    Story(
        _PAPER,
        (
            Stage("deploy tree", "deploy", _install_tree),
            Stage("update tree", "update", _update_tree),
            Stage("upgrade tree", "update", _upgrade_tree),
            Stage("cleanup tree", "cleanup", _delete_tree),
        ),
    ),
    CONTROLLED,
    OWNED,
    JOBS,
)
