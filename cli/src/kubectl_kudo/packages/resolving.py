"""Finds the packages that a package depends on: at paths, in the repository, or installed.

A plain name means the newest version of the repository that fits, as in KUDO 0.19. A version that
the task names, or that it named when the package was installed, is not searched for if it is
installed. What the repository does not have is taken from the namespace.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubectl_kudo.packages.sources import IndexSource, repository_of
from kubectl_kudo.repositories.repository import Repositories
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.output import talk
from kudo.api import OperatorVersion, operator_version_name
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.location import Located
from kudo.packages.resolution import Lookup, Requirement, Resolution, Stored, resolve

_Answer = OperatorVersion | Located | InvalidInput


class _NotSearched(Exception):
    """A name occurred that was not searched for yet."""

    def __init__(self, requirement: Requirement) -> None:
        super().__init__(requirement.package)
        self.requirement = requirement


@dataclass(frozen=True, slots=True)
class _Search:
    """Searches packages by name.

    Attributes:
        installed: Finds those that are installed.
        repository: Returns the repository; called when it is needed.
        repository_first: Whether it is asked even for versions that are installed.
    """

    installed: Lookup
    repository: Callable[[], Repositories]
    repository_first: bool

    async def find(self, requirement: Requirement) -> _Answer:
        """Return what a name means, or the error if there is no such package."""
        if requirement.operator_version and not self.repository_first:
            there = self._installed(requirement)
            if not isinstance(there, InvalidInput):
                return there
        try:
            return await self._in_repository(requirement)
        except (InvalidInput, CliError) as error:
            return self._instead(requirement, error)

    async def _in_repository(self, requirement: Requirement) -> OperatorVersion | Located:
        source = IndexSource(requirement, self.repository)
        # The content of a version never changes, so one that is installed is not downloaded.
        chosen = await source.choose()
        versions = chosen.operator_version, chosen.app_version
        there = self._installed(Requirement(chosen.name, *versions))
        name = operator_version_name(chosen.name, *versions)
        if isinstance(there, OperatorVersion) and there.metadata.name == name:
            return there
        return await source.locate()

    def _installed(self, requirement: Requirement) -> OperatorVersion | Located | InvalidInput:
        try:
            return self.installed(requirement)
        except InvalidInput as error:
            return error

    def _instead(self, requirement: Requirement, why: InvalidInput | CliError) -> _Answer:
        """Return the installed version that fits, where the repository has none."""
        there = self._installed(requirement)
        if isinstance(there, InvalidInput):
            text = f"{there}; and the repository does not have it: {why}"
            return InvalidInput([Problem("DependencyUnresolved", text)])
        if isinstance(there, OperatorVersion) and isinstance(why, CliError):
            talk(f"Warning: {why}; using {there.metadata.name}, which is installed")
        return there


async def resolve_without_cluster(located: Located, args: Args) -> Resolution:
    """Return the package with all that it depends on, from paths and the repository alone.

    Raises:
        InvalidInput: as of `resolve`.
    """
    return await resolve_names(located, _nothing_installed, args)


def _nothing_installed(requirement: Requirement) -> OperatorVersion:
    text = f"{requirement.package} is not looked for in a cluster"
    raise InvalidInput([Problem("DependencyUnresolved", text)])


async def resolve_names(
    located: Located, installed: Lookup, args: Args, stored: Stored | None = None
) -> Resolution:
    """Return the package with all that it depends on, downloading what is not installed.

    The packages are walked through again after each search, so that the walk itself needs no
    network; there are at most 50.

    Raises:
        InvalidInput: as of `resolve`.
    """
    search = _Search(installed, repository_of(args), repository_first=bool(args.repo))
    answers: dict[Requirement, _Answer] = {}
    while True:
        try:
            return resolve(located, _lookup(answers), stored=stored)
        except _NotSearched as missing:
            requirement = missing.requirement
        answers[requirement] = await search.find(requirement)


def _lookup(answers: Mapping[Requirement, _Answer]) -> Lookup:
    def lookup(requirement: Requirement) -> OperatorVersion | Located:
        if requirement not in answers:
            raise _NotSearched(requirement)
        answer = answers[requirement]
        if isinstance(answer, InvalidInput):
            raise answer
        return answer

    return lookup
