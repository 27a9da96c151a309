"""Reads a repository: its index, and the packages that the index names.

The built-in repository has the examples, which come with the command line as files.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import kubectl_kudo
from kubectl_kudo.repositories.downloader import Downloader
from kubectl_kudo.repositories.home import Cache, home_folder, load_settings, sha256
from kubectl_kudo.repositories.urls import (
    Credentials,
    DownloadError,
    Unreachable,
    below,
    is_remote,
    shown_url,
)
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.output import talk
from kubectl_kudo.session.verbosity import tracer_of
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.files import DEFAULT_LIMITS
from kudo.packages.location import Located, locate, locate_in_archive
from kudo.packages.model import OperatorFile
from kudo.packages.repositories.index import (
    INDEX_FILE,
    MAX_INDEX,
    Index,
    IndexEntry,
    Maintainer,
    read_index,
    with_entries,
)
from kudo.packages.repositories.settings import BUILT_IN, Repository
from kudo.packages.repositories.versions import newest_first

_SHOWN = 3
_PACKAGE = Path(kubectl_kudo.__file__).parent


@dataclass(slots=True)
class RepositoryClient:
    """Reads one repository; the index at most once.

    Attributes:
        name: Its name, for messages.
        url: URL of the folder of its index.
        downloader: Downloads from it.
        cache: What was downloaded before.
        say: Prints warnings.
        hint: Added to the error if the index cannot be read.
    """

    name: str
    url: str
    downloader: Downloader
    cache: Cache
    say: Callable[[str], None] = talk
    hint: str = ""
    _index: Index | None = field(default=None, init=False)

    async def index(self) -> Index:
        """Return the index. If the host cannot be reached, that of the last time.

        Raises:
            CliError: it cannot be downloaded, and there is none of the last time.
            InvalidInput: it is no index.
        """
        if self._index is None:
            try:
                self._index = read_index(await self._content())
            except DownloadError as error:
                raise type(error)(f"{error}{self.hint}") from error
            warnings = self._index.warnings
            for warning in warnings[:_SHOWN]:
                self.say(f"Warning: {self._shown()}: {printable(warning)}")
            if len(warnings) > _SHOWN:
                self.say(f"Warning: {self._shown()}: {len(warnings) - _SHOWN} more like these")
        return self._index

    async def _content(self) -> bytes:
        url = below(self.url, INDEX_FILE)
        cached = self.cache.index(url, MAX_INDEX) if is_remote(url) else None
        try:
            download = await self.downloader.get(
                url, limit=MAX_INDEX, etag=cached.etag if cached else ""
            )
        except Unreachable as error:
            if cached is None:
                raise
            self.say(f"Warning: {error}; using the index of {cached.time}")
            return cached.content
        if download.content is None and cached is not None:
            # Stored again, so that its time says when it was seen unchanged.
            self.cache.keep_index(url, cached.content, cached.etag)
            return cached.content
        content = download.content or b""
        if is_remote(url):
            read_index(content)  # only what is an index goes into the cache
            self.cache.keep_index(url, content, download.etag)
        return content

    async def locate(self, entry: IndexEntry) -> Located:
        """Return the package of an entry of this repository's index.

        Raises:
            InvalidInput: no URL has it, or it cannot be read.
        """
        cached = self.cache.package(entry.digest, DEFAULT_LIMITS.total_size)
        if cached is not None:
            return locate_in_archive(cached, f"{entry.identity} of {self._shown()}")
        faults = []
        for url in entry.urls:
            try:
                content, origin = await self._download(entry, url)
            except (CliError, InvalidInput) as error:
                faults.append(str(error))
            else:
                return locate_in_archive(content, origin)
        # KUDO 0.19 crashed on an entry without URLs.
        why = "; ".join(faults) or f"the index of {self._shown()} has no URL of it"
        raise InvalidInput([Problem("PackageUnreachable", f"getting {entry.identity}: {why}")])

    async def _download(self, entry: IndexEntry, given: str) -> tuple[bytes, str]:
        """Return the `.tgz` file at a URL of an entry, and where it is from."""
        try:
            url = urljoin(below(self.url, INDEX_FILE), given)
            local = not is_remote(url)
        except ValueError as error:
            raise DownloadError(f"the index has an invalid URL: {error}") from error
        # The owner of a server must not choose which local files are read.
        if local and is_remote(self.url) and urlsplit(url).scheme == "file":
            raise DownloadError(
                f"the index names the local file {shown_url(url)}, which only an index in a "
                "folder may do"
            )
        download = await self.downloader.get(url, limit=DEFAULT_LIMITS.total_size)
        content = download.content or b""
        digest = sha256(content)
        if entry.digest and digest != entry.digest:
            raise DownloadError(
                f"{shown_url(url)} is not what the index describes: its SHA-256 is {digest}, and "
                f"that in the index {entry.digest}"
            )
        if not local:
            self.cache.keep_package(digest, content)
        return content, shown_url(url)

    def _shown(self) -> str:
        return f"repository {self.name}" if self.name else shown_url(self.url)


class Repositories(Protocol):
    """What packages are searched for in, and read from."""

    @property
    def name(self) -> str: ...

    async def index(self) -> Index:
        """Return the index."""

    async def locate(self, entry: IndexEntry) -> Located:
        """Return the package of an entry of the index."""


def open_repository(args: Args, name: str = "") -> Repositories:
    """Return the client of a repository; with an empty name that of the context.

    Raises:
        CliError: the user has none of that name, or it is the bucket of KUDO 0.19.
    """
    try:
        settings = load_settings(home_folder(args))
        chosen = settings.find(name)
    except InvalidInput as error:
        raise CliError(f"could not build operator repository: {error}") from error
    if chosen.is_abandoned:
        if name:
            raise CliError(abandoned(chosen), code=ExitCode.DENIED)
        talk(f"Warning: {abandoned(chosen)}. Packages come from {BUILT_IN} instead")
    if chosen.is_built_in or chosen.is_abandoned:
        return BuiltInRepository(examples())
    client = client_of(args, chosen.url, name=chosen.name)
    others = [other.name for other in settings.all() if other.name != chosen.name]
    if others and not name:
        shown = ", ".join(map(printable, others[:_SHOWN]))
        client.hint = (
            f" (repository {printable(chosen.name)}; --repo names another, such as {shown})"
        )
    return client


def abandoned(repository: Repository) -> str:
    """Return why nothing is read from a repository of KUDO 0.19, and how to remove it."""
    name = printable(repository.name)
    return (
        f"repository {name} is not used: its address is that of the former project, and whoever "
        f"owns it now could serve any package. Remove it: kubectl kudo repo remove {name}"
    )


def client_of(args: Args, url: str, *, name: str = "") -> RepositoryClient:
    """Return the client of a repository at a URL."""
    cache = Cache(home_folder(args) / "cache")
    return RepositoryClient(name, url, downloader_of(args, url), cache)


def downloader_of(args: Args, url: str = "") -> Downloader:
    """Return the downloader that the flags ask for.

    Args:
        args: The command line.
        url: URL of the repository that credentials of the environment are for.
    """
    downloader = Downloader(Credentials(url), tracer=tracer_of(args))
    if args.request_timeout:
        return replace(downloader, timeout=float(args.request_timeout))
    return downloader


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
    """The packages below a folder, which are read without the network.

    An entry has the path of its package as its URL.
    """

    folder: Path
    name: str = BUILT_IN

    async def index(self) -> Index:
        """Return the index of all packages.

        Raises:
            InvalidInput: one cannot be read.
        """
        entries = []
        for path in sorted(self.folder.rglob("operator.yaml")):
            # Package folders have operator.yaml of other packages in their tests.
            if "tests" in path.relative_to(self.folder).parts:
                continue
            operator = locate(path.parent).package.operator
            entries.append(
                IndexEntry(
                    name=operator.name,
                    operator_version=operator.operator_version,
                    app_version=operator.app_version,
                    description=operator.description,
                    maintainers=maintainers_of(operator),
                    urls=(str(path.parent),),
                )
            )
        return Index(with_entries(Index({}), newest_first(entries)))

    async def locate(self, entry: IndexEntry) -> Located:
        """Return the package of an entry of this index."""
        return locate(Path(*entry.urls))


def maintainers_of(operator: OperatorFile) -> tuple[Maintainer, ...]:
    """Return the maintainers of a package as an index has them."""
    return tuple(
        Maintainer(person.name or "", person.email or "") for person in operator.maintainers
    )
