"""The list of repositories of a user, `repositories.yaml` in the format of KUDO 0.19."""

from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from goyaml import YamlError, dump, load
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.repositories.index import folded, unknown

BUILT_IN: Final = "builtin"
"""The repository of the packages that come with the command line: the default, in no file."""
_FORMER_BUCKET: Final = "kudo-repository"
_FORMER_HOST: Final = "storage.googleapis.com"
_FIELDS: Final = ("context", "repoVersion", "repositories")
_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository: the URL of the folder that its index is in."""

    name: str
    url: str

    @property
    def is_built_in(self) -> bool:
        """Whether it is the one that comes with the command line, which has no URL."""
        return not self.url

    @property
    def is_abandoned(self) -> bool:
        """Whether it is the bucket that `kubectl kudo init` of KUDO 0.19 wrote into the list.

        Nobody answers for who owns that name by now.
        """
        parts = urlsplit(self.url)
        # With a dot at its end a host is the same host, and another text.
        host = (parts.hostname or "").rstrip(".")
        in_path = host == _FORMER_HOST and parts.path.split("/")[1:2] == [_FORMER_BUCKET]
        return in_path or host == f"{_FORMER_BUCKET}.{_FORMER_HOST}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The repositories of a user.

    Attributes:
        context: Name of the repository that commands use unless they name another; empty for the
            one that is built in.
        repositories: Those of the file. One of them may have the name of the one that is built in,
            and counts then.
        others: Fields that KUDO does not know.
    """

    context: str
    repositories: tuple[Repository, ...]
    others: dict[str, object] = field(default_factory=dict)

    def find(self, name: str = "") -> Repository:
        """Return a repository; with an empty name the one of the context.

        Raises:
            InvalidInput: there is none.
        """
        repository = self._named(name or self.context or BUILT_IN)
        if repository is not None:
            return repository
        if name:
            hint = f"; there are: {', '.join(each.name for each in self.all())}"
        else:
            hint = f"the context {self.context}; choose another: kubectl kudo repo context <name>"
        raise _failure("RepositoryUnknown", f"unable to find repository for {name}{hint}")

    def all(self) -> tuple[Repository, ...]:
        """Return the repositories of the file, and before them the one that is built in."""
        stored = any(each.name == BUILT_IN for each in self.repositories)
        return self.repositories if stored else (Repository(BUILT_IN, ""), *self.repositories)

    def with_repository(self, name: str, url: str) -> "Settings":
        """Return the settings with one repository more; the context stays.

        Raises:
            InvalidInput: there is one of that name.
        """
        if self._named(name) is not None:
            text = f"repository name ({name}) already exists, please specify a different name"
            raise _failure("RepositoryExists", text)
        added = (*self.repositories, Repository(name, url))
        return replace(self, repositories=added)

    def without(self, name: str) -> "Settings":
        """Return the settings without a repository.

        If it was the context, the one that is built in becomes it, so that commands which name none
        still work.

        Raises:
            InvalidInput: there is none of that name, or it is the one that is built in.
        """
        if self._existing(name).is_built_in:
            raise _failure(
                "RepositoryBuiltIn",
                f"{BUILT_IN} comes with kubectl kudo and is in no list; to use another one by "
                "default: kubectl kudo repo context <name>",
            )
        kept = tuple(each for each in self.repositories if each.name != name)
        # Commands that name no repository still work without the one that was the context.
        context = "" if self.context == name else self.context
        return replace(self, context=context, repositories=kept)

    def with_context(self, name: str) -> "Settings":
        """Return the settings with another context.

        Raises:
            InvalidInput: there is no repository of that name.
        """
        context = "" if self._existing(name).is_built_in else name
        return replace(self, context=context)

    def _existing(self, name: str) -> Repository:
        repository = self._named(name)
        if repository is None:
            raise _failure("RepositoryUnknown", f'no repo named "{name}" found')
        return repository

    def _named(self, name: str) -> Repository | None:
        return next((each for each in self.all() if each.name == name), None)


DEFAULT_SETTINGS: Final = Settings("", ())
"""What holds where no file says something else."""


def read_settings(content: bytes) -> Settings:
    """Return the settings in a file.

    Raises:
        InvalidInput: the content is no list of repositories.
    """
    try:
        document = load(content)
    except YamlError as error:
        raise _invalid(str(error)) from error
    if not isinstance(document, dict):
        raise _invalid("it is not a mapping")
    fields = folded(document)
    items = fields.get("repositories") or []
    if not isinstance(items, list) or len(items) > _MOST:
        raise _invalid(f"repositories must be a list of at most {_MOST}")
    context = fields.get("context") or ""
    if not isinstance(context, str):
        raise _invalid("context must be text")
    repositories = []
    for item in items:
        entry = folded(item) if isinstance(item, dict) else {}
        name, url = entry.get("name"), entry.get("url")
        if not (isinstance(name, str) and isinstance(url, str) and name and url):
            raise _invalid("each of repositories must have a name and a url")
        repositories.append(Repository(name, url))
    return Settings(context, tuple(repositories), unknown(document, _FIELDS))


def write_settings(settings: Settings) -> str:
    """Return the content of `repositories.yaml`, in the bytes that KUDO 0.19 writes."""
    repositories = [{"name": each.name, "url": each.url} for each in settings.repositories]
    return dump(
        {
            **settings.others,
            "context": settings.context,
            "repoVersion": "v1",
            "repositories": repositories,
        }
    )


def _invalid(text: str) -> InvalidInput:
    return _failure("RepositoriesInvalid", text)


def _failure(reason: str, text: str) -> InvalidInput:
    return InvalidInput([Problem(reason, text)])
