"""`kubectl kudo repo index`: writes the index of a folder of packages."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urljoin

from kubectl_kudo.repositories.home import home_folder, load_settings, sha256
from kubectl_kudo.repositories.repository import abandoned, client_of, maintainers_of
from kubectl_kudo.repositories.urls import below
from kubectl_kudo.session.arguments import SKIP_VERIFY, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.output import say, talk
from kudo.api.problems import InvalidInput
from kudo.packages.files import DEFAULT_LIMITS
from kudo.packages.location import locate_in_archive
from kudo.packages.repositories.building import PackageFile, build, merge
from kudo.packages.repositories.index import INDEX_FILE, Index, IndexEntry, read_index, write_index
from kudo.verification import check_installable

_DEFAULT_URL = "http://localhost/"


def run(args: Args) -> None:
    """Write `index.yaml` into the folder.

    Raises:
        CliError: the folder is none, has no packages or has an index already.
        InvalidInput: the index to be merged is none.
    """
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory containing the operators to package"
        )
    if args.merge and args.merge_repo:
        raise UsageError("specify either 'merge' or 'merge-repo', not both")
    if args.url and args.url_repo:
        raise UsageError("specify either 'url' or 'url-repo', not both")
    place = Path(args.arguments[0]).expanduser().absolute()
    target = place / INDEX_FILE
    if target.exists() and not args.overwrite:
        raise CliError(f'target file "{target}" already exists')
    base = _configured(args, args.url_repo) if args.url_repo else args.url or _DEFAULT_URL
    merged = _merged(args)
    index = index_of(place, base, skip_verify=args.skip_verify)
    if merged is not None:
        index = merge(index, merged)
    try:
        write_file(target, write_index(index).encode())
    except OSError as error:
        raise CliError(f"cannot write {target}: {error.strerror or error}") from error
    say(f"index {target} created.")


COMMAND = Command(
    run,
    "<folder>",
    (
        Flag(("--url",), "URL that the folder will have (default: http://localhost/)", "url"),
        Flag(("--url-repo",), "take that URL from the repository of this name", "name"),
        Flag(("--merge",), "add what the index below this URL or in this folder has", "url"),
        Flag(("--merge-repo",), "add what the repository of this name has", "name"),
        Flag(("--overwrite", "-w"), "replace an index.yaml that exists", default=False),
        SKIP_VERIFY,
    ),
    more="All .tgz files of the folder itself are read. One that is no package, or that install "
    "refuses, is\nleft out with a warning.",
    examples=(
        ("The index of packages to be uploaded", "repo index dist --url https://example.org/v1"),
        ("Keep what is published already", "repo index dist --url-repo own --merge-repo own -w"),
    ),
)


def index_of(folder: Path, base: str, *, skip_verify: bool = False) -> Index:
    """Return the index of a folder; print what is left out.

    Args:
        folder: The folder.
        base: The URL that it will have.
        skip_verify: Whether packages that `install` refuses are in the index.

    Raises:
        CliError: the folder is none, or has no packages.
    """
    if not folder.is_dir():
        raise CliError(f'destination "{folder}" is not a proper directory')
    generated = datetime.now().astimezone().isoformat(timespec="seconds")
    index, duplicates = build(_packages(folder, skip_verify=skip_verify), base, generated)
    for duplicate in duplicates:
        identity = f"{duplicate.first} is {duplicate.identity} as well"
        talk(f"WARNING: {duplicate.file} is left out: {identity}")
    if not index.entries:
        raise CliError("no packages discovered")
    return index


def _packages(folder: Path, *, skip_verify: bool) -> Iterator[PackageFile]:
    for path in sorted(folder.glob("*.tgz")):
        try:
            yield _package(path, skip_verify=skip_verify)
        except (OSError, InvalidInput) as error:
            # The first of the problems of a package, without the path that stands before it.
            cause = getattr(error, "strerror", None) or str(error)
            if isinstance(error, InvalidInput):
                cause = str(error.problems[0])
            talk(f"WARNING: operator: {path} is invalid: {cause}")


def _package(path: Path, *, skip_verify: bool) -> PackageFile:
    with path.open("rb") as file:
        content = file.read(DEFAULT_LIMITS.total_size + 1)
    located = locate_in_archive(content, path.name)
    operator = located.package.operator
    for name in ("name", "operator_version"):
        if not getattr(operator, name):
            raise OSError(f"operator.yaml gives no {name.replace('_v', 'V')}")
    if not skip_verify:
        check_installable(located)
    return PackageFile(
        file=path.name,
        digest=sha256(content),
        name=operator.name,
        operator_version=operator.operator_version,
        app_version=operator.app_version,
        description=operator.description,
        maintainers=maintainers_of(operator),
    )


def _configured(args: Args, name: str) -> str:
    # KUDO 0.19 crashed on a name for --merge-repo that is not in the list.
    for repository in load_settings(home_folder(args)).all():
        if repository.name != name:
            continue
        if repository.is_built_in:
            raise CliError(f"repository {name} has no URL: it comes with kubectl kudo")
        if repository.is_abandoned:
            raise CliError(abandoned(repository), code=ExitCode.DENIED)
        return repository.url
    text = f"configuration for repositories does not contain {name}"
    raise CliError(text, code=ExitCode.NOT_FOUND)


def _merged(args: Args) -> Index | None:
    if args.merge and "://" not in args.merge:
        # The help of KUDO 0.19 promised a path, which failed.
        path = Path(args.merge).expanduser()
        path = path if path.name == INDEX_FILE else path / INDEX_FILE
        try:
            return read_index(path.read_bytes())
        except OSError as error:
            raise CliError(f"cannot read {path}: {error.strerror or error}") from error
    url = _configured(args, args.merge_repo) if args.merge_repo else args.merge
    if not url:
        return None
    index, base = asyncio.run(client_of(args, url).index()), below(url, INDEX_FILE)

    def absolute(entry: IndexEntry) -> IndexEntry:
        return replace(entry, urls=tuple(urljoin(base, relative) for relative in entry.urls))

    # The merged index lies elsewhere, and relative URLs are of the repository it is from.
    entries = {name: tuple(map(absolute, versions)) for name, versions in index.entries.items()}
    return replace(index, entries=entries)
