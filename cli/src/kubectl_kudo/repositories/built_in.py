"""The repository that comes with the command line: the examples, read from its own files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import kubectl_kudo
from kubectl_kudo.session.errors import CliError
from kudo.packages.location import Located, locate
from kudo.packages.model import OperatorFile
from kudo.packages.repositories.index import Entry, Index, Maintainer, with_entries
from kudo.packages.repositories.settings import BUILT_IN
from kudo.packages.repositories.versions import newest_first

_PACKAGE = Path(kubectl_kudo.__file__).parent
_OPERATOR = "operator.yaml"


def examples() -> Path:
    """Return the folder of the packages: that of the wheel, or of the repository if editable.

    Raises:
        CliError: the installation lacks it.
    """
    for folder in (_PACKAGE / "examples", _PACKAGE.parents[2] / "examples"):
        if folder.is_dir():
            return folder
    text = f"the packages that come with kubectl kudo are missing in {_PACKAGE}; install it again"
    raise CliError(text)


@dataclass(frozen=True, slots=True)
class BuiltInRepository:
    """The packages below a folder; a `repository.RepositoryClient` that needs no network.

    An entry has the path of its package as its URL.
    """

    folder: Path
    name: str = BUILT_IN

    async def index(self) -> Index:
        """Return the index of all packages.

        Raises:
            InvalidInput: one cannot be read.
        """
        return Index(with_entries(Index({}), newest_first(map(_entry, self._folders()))))

    async def locate(self, entry: Entry) -> Located:
        """Return the package of an entry of this index."""
        return locate(Path(*entry.urls))

    def _folders(self) -> Iterator[Path]:
        for path in sorted(self.folder.rglob(_OPERATOR)):
            # Package folders have operator.yaml of other packages in their tests.
            if "tests" not in path.relative_to(self.folder).parts:
                yield path.parent


def _entry(folder: Path) -> Entry:
    operator = locate(folder).package.operator
    return Entry(
        name=operator.name,
        operator_version=operator.operator_version,
        app_version=operator.app_version,
        description=operator.description,
        maintainers=maintainers_of(operator),
        urls=(str(folder),),
    )


def maintainers_of(operator: OperatorFile) -> tuple[Maintainer, ...]:
    """Return the maintainers of a package as an index has them."""
    return tuple(Maintainer(one.name or "", one.email or "") for one in operator.maintainers)
