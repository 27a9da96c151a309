"""Where packages come from: a path, a URL, the index of a repository, or what is installed.

A bare word is the name of a package in a repository, as in KUDO 0.19; it never means a folder of
that name, so that adding a folder cannot change what a script installs.

A dependency that is named without a version is the newest in the repository that fits, as in KUDO
0.19. A version that the task names, or that it named when the package was installed, is not
searched for if it is installed. What the repository does not have is taken from the namespace.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kubectl_kudo.repositories.repository import Repositories, downloader_of, open_repository
from kubectl_kudo.repositories.urls import shown_url
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, listed
from kubectl_kudo.session.output import talk
from kudo.api import OperatorVersion, operator_version_name
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.files import DEFAULT_LIMITS
from kudo.packages.location import Located, is_url, locate, locate_in_archive
from kudo.packages.reader import ARCHIVE_SUFFIX
from kudo.packages.repositories.index import IndexEntry
from kudo.packages.repositories.settings import BUILT_IN
from kudo.packages.repositories.versions import choose
from kudo.packages.resolution import Lookup, Requirement, Resolution, Stored, resolve


class Source(Protocol):
    """A place that packages come from."""

    async def locate(self) -> Located:
        """Return the package.

        Raises:
            InvalidInput: there is none, or it cannot be read.
            CliError: it cannot be downloaded.
        """


@dataclass(frozen=True, slots=True)
class PathSource:
    """A folder or a `.tgz` file."""

    path: str

    async def locate(self) -> Located:
        return locate(self.path)


@dataclass(frozen=True, slots=True)
class UrlSource:
    """A `.tgz` file on a server."""

    url: str
    args: Args

    async def locate(self) -> Located:
        shown = shown_url(self.url)
        download = await downloader_of(self.args).get(self.url, limit=DEFAULT_LIMITS.total_size)
        talk(f"{shown} is a remote {ARCHIVE_SUFFIX} package")
        return locate_in_archive(download.content or b"", shown)


@dataclass(frozen=True, slots=True)
class IndexSource:
    """A version of a package in the index of a repository.

    Attributes:
        requirement: Name and versions of the package.
        repository: Returns the repository; called when it is needed.
    """

    requirement: Requirement
    repository: Callable[[], Repositories]

    async def choose(self) -> IndexEntry:
        """Return the entry of the version: of those that fit, the newest.

        Raises:
            InvalidInput: the index has none, or is not valid.
            CliError: there is no such repository, or its index cannot be downloaded.
        """
        asked, repository = self.requirement, self.repository()
        try:
            return choose(
                await repository.index(),
                asked.package,
                operator_version=asked.operator_version,
                app_version=asked.app_version,
            )
        except InvalidInput as error:
            if repository.name != BUILT_IN:
                raise
            # The built-in repository is the default: who asks for a package of their own has
            # not added the repository that has it.
            more = (
                "for others than the packages that come with kubectl kudo, add a repository: "
                "kubectl kudo repo add <name> <url>"
            )
            problems = [
                Problem(problem.reason, f"{problem.message}; {more}", problem.field)
                for problem in error.problems
            ]
            raise InvalidInput(problems) from error

    async def locate(self) -> Located:
        entry, client = await self.choose(), self.repository()
        located = await client.locate(entry)
        if entry.deprecated:
            talk(f"Warning: {entry.identity} is deprecated in repository {client.name}")
        operator = located.package.operator
        has = operator.name, operator.app_version, operator.operator_version
        if has != entry.identity:
            origin = located.package.origin
            talk(f"Warning: {origin} is {'-'.join(filter(None, has))} and not {entry.identity}")
        return located


def repository_of(args: Args) -> Callable[[], Repositories]:
    """Return a function that returns the repository that the flags name, always the same."""
    opened: list[Repositories] = []

    def repository() -> Repositories:
        if not opened:
            opened.append(open_repository(args, args.repo))
        return opened[0]

    return repository


def is_local(argument: str) -> bool:
    """Return whether an argument is a path."""
    if is_url(argument):
        return False
    bare = argument not in {".", ".."} and Path(argument).name == argument
    return not bare or argument.endswith(ARCHIVE_SUFFIX)


def source_of(argument: str, args: Args) -> Source:
    """Return the source of the package that an argument names."""
    if is_local(argument):
        return PathSource(argument)
    if is_url(argument):
        return UrlSource(argument, args)
    asked = Requirement(argument, args.operator_version, args.app_version)
    return IndexSource(asked, repository_of(args))


NOT_FOUND = "failed to resolve operator package for: {}"
"""What the errors of `find` begin with, as in KUDO 0.19."""


async def find(args: Args, headline: str = NOT_FOUND) -> Located:
    """Return the package that the argument of a command names.

    Args:
        args: The argument, and the flags of `REPOSITORY`.
        headline: What the text of an error begins with; `{}` stands for the argument.

    Raises:
        CliError: there is none, or it cannot be read; the text lists all problems.
    """
    argument = args.arguments[0]
    headline = headline.format(shown_url(argument) if is_url(argument) else argument)
    try:
        return await source_of(argument, args).locate()
    except InvalidInput as error:
        # A problem of the package as a whole does not name it a second time.
        problems = [
            Problem(problem.reason, problem.message)
            if problem.field and Path(problem.field) == Path(argument)
            else problem
            for problem in error.problems
        ]
        raise CliError(f"{listed(headline, problems)}{_hint(argument)}") from error
    except CliError as error:
        raise CliError(f"{headline} {error}{_hint(argument)}") from error


def found(args: Args, headline: str = NOT_FOUND) -> Located:
    """Return the package as `find` does, in a command without an event loop."""
    return asyncio.run(find(args, headline))


def _hint(argument: str) -> str:
    named = not is_local(argument) and not is_url(argument) and Path(argument).is_dir()
    return f"; for the folder of that name write ./{argument}" if named else ""


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
            # The repository has none, or cannot be reached: the installed version that fits.
            there = self._installed(requirement)
            if isinstance(there, InvalidInput):
                text = f"{there}; and the repository does not have it: {error}"
                return InvalidInput([Problem("DependencyUnresolved", text)])
            if isinstance(there, OperatorVersion) and isinstance(error, CliError):
                talk(f"Warning: {error}; using {there.metadata.name}, which is installed")
            return there

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


async def resolve_without_cluster(located: Located, args: Args) -> Resolution:
    """Return the package with all that it depends on, from paths and the repository alone.

    Raises:
        InvalidInput: as of `resolve`.
    """

    def nothing_installed(requirement: Requirement) -> OperatorVersion:
        text = f"{requirement.package} is not looked for in a cluster"
        raise InvalidInput([Problem("DependencyUnresolved", text)])

    return await resolve_names(located, nothing_installed, args)


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

    def lookup(requirement: Requirement) -> OperatorVersion | Located:
        if requirement not in answers:
            raise _NotSearched(requirement)
        answer = answers[requirement]
        if isinstance(answer, InvalidInput):
            raise answer
        return answer

    while True:
        try:
            return resolve(located, lookup, stored=stored)
        except _NotSearched as missing:
            requirement = missing.requirement
        answers[requirement] = await search.find(requirement)
