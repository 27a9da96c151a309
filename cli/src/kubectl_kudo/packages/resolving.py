"""Finds the packages that a package depends on: at paths, installed, or in the repository.

A plain name means a version that is installed in the namespace and fits, else the newest one in the
repository that fits; with `--repo` the repository comes first.
"""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError
from kubectl_kudo.core.kinds import OPERATOR_VERSIONS
from kubectl_kudo.core.session import Session
from kubectl_kudo.packages.installed_versions import lookup_in
from kubectl_kudo.packages.sources import IndexSource, repository_of
from kudo.api import OperatorVersion
from kudo.packages import Located, Lookup, Requirement, Resolution, depends, resolve
from kudo.problems import InvalidInput, Problem


class _NotFetched(Exception):
    """A package of the repository is needed that was not downloaded yet."""

    def __init__(self, requirement: Requirement) -> None:
        super().__init__(requirement.package)
        self.requirement = requirement


class _Names:
    """Finds packages by name.

    Args:
        installed: Finds those that are installed.
        repository_first: Whether the repository is asked before that.
    """

    def __init__(self, installed: Lookup, *, repository_first: bool) -> None:
        self.fetched: dict[Requirement, Located | InvalidInput] = {}
        self._installed = installed
        self._repository_first = repository_first

    def __call__(self, requirement: Requirement) -> OperatorVersion | Located:
        if self._repository_first:
            fetched = self._from_repository(requirement)
            if isinstance(fetched, Located):
                return fetched
        try:
            return self._installed(requirement)
        except InvalidInput as error:
            fetched = self._from_repository(requirement)
            if isinstance(fetched, Located):
                return fetched
            text = f"{error}; and the repository does not have it: {fetched}"
            raise InvalidInput([Problem("DependencyUnresolved", text)]) from error

    def _from_repository(self, requirement: Requirement) -> Located | InvalidInput:
        if requirement not in self.fetched:
            raise _NotFetched(requirement)
        return self.fetched[requirement]


async def with_dependencies(session: Session, args: Args, located: Located) -> Resolution:
    """Return the package with all that it depends on.

    Raises:
        InvalidInput: as of `resolve`.
    """
    if not depends(located.package):
        return Resolution(located.package)
    versions = await session.client.list(OPERATOR_VERSIONS, namespace=session.namespace)
    return await resolve_names(located, lookup_in(session.namespace, versions.items), args)


async def resolve_names(located: Located, installed: Lookup, args: Args) -> Resolution:
    """Return the package with all that it depends on, downloading what is not installed.

    The packages are walked through again after each download, so that the walk itself needs no
    network; there are at most 50.

    Raises:
        InvalidInput: as of `resolve`.
    """
    names = _Names(installed, repository_first=bool(args.repo))
    repository = repository_of(args)
    while True:
        try:
            return resolve(located, names)
        except _NotFetched as missing:
            source = IndexSource(missing.requirement, repository)
        try:
            names.fetched[source.requirement] = await source.locate()
        except InvalidInput as error:
            names.fetched[source.requirement] = error
        except CliError as error:
            problem = Problem("DependencyUnresolved", str(error))
            names.fetched[source.requirement] = InvalidInput([problem])
