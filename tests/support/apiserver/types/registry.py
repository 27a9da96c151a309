"""Which kinds are served: those built in, and those of CustomResourceDefinitions."""

from collections.abc import Iterable, Iterator

from kubeio.types import JsonObject
from tests.support.apiserver.storage import Revision, StorageName
from tests.support.apiserver.types.kinds import BUILT_IN, CRD, Kind, from_definition

GroupVersion = tuple[str, str]


class Registry:
    """The kinds by group, version and plural name."""

    def __init__(self, kinds: Iterable[Kind] = BUILT_IN) -> None:
        self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in kinds}

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def of(self, name: StorageName) -> Kind:
        """Return the first version of a resource that is stored."""
        return next(kind for kind in self if kind.storage == name)

    def of_kind(self, api_version: str, kind: str) -> Kind | None:
        found = (one for one in self if (one.api_version, one.kind) == (api_version, kind))
        return next(found, None)

    def group_versions(self) -> list[GroupVersion]:
        return list(dict.fromkeys((kind.group, kind.version) for kind in self))

    def define(self, crd: JsonObject) -> None:
        for kind in from_definition(crd):
            self._kinds[kind.group, kind.version, kind.plural] = kind

    def undefine(self, crd: JsonObject) -> None:
        spec = crd["spec"]
        name = spec["group"], spec["names"]["plural"]
        self._kinds = {key: kind for key, kind in self._kinds.items() if kind.storage != name}

    def follow(self, name: StorageName, revision: Revision) -> None:
        """Serve what a CustomResourceDefinition defines from its creation to its deletion."""
        if name != CRD.storage:
            return
        self.undefine(revision.new)
        if not revision.deleted:
            self.define(revision.new)
