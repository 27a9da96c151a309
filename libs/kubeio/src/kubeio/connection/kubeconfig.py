"""Reading kubeconfig files and merging several of them, as kubectl does.

Where several files are given, the first that names a cluster, user, context or current-context
wins, and relative paths count from the directory of the file that they stand in. Every problem
is a ConfigError that names the file, the field and what to do.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubeio.connection.tls import Pem
from kubeio.errors import ConfigError
from kubeio.types import Json, JsonObject

_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One named cluster, user or context, and the file it came from. Holds secrets."""

    path: str
    source: Path
    body: JsonObject = field(repr=False)

    def text(self, key: str) -> str:
        """Return a scalar as text, empty if it is missing."""
        value = self.body.get(key)
        if value is None:
            return ""
        if isinstance(value, dict | list):
            raise self.problem(key, "expected text")
        return str(value)

    def flag(self, key: str) -> bool:
        """Return a boolean, False if it is missing."""
        value = self.body.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.problem(key, "expected true or false")

    def pem(self, key: str) -> Pem:
        """Return ``<key>-data`` (base64) or the file named by ``<key>``; the data win."""
        data = self.text(f"{key}-data")
        if data:
            try:
                return Pem(data=base64.b64decode(data, validate=True))
            except (binascii.Error, ValueError):
                problem = "not base64; encode the PEM file with `base64 -w0`"
                raise self.problem(f"{key}-data", problem) from None
        path = self.file(key)
        return Pem(file=path) if path else Pem()

    def file(self, key: str) -> Path | None:
        """Return the existing file that a field names, relative to the kubeconfig."""
        name = self.text(key)
        if not name:
            return None
        path = self.source.parent / Path(name).expanduser()
        if not path.is_file():
            raise self.problem(key, f"no such file: {path}")
        return path

    def problem(self, key: str, text: str) -> ConfigError:
        """Return the error that names this entry's file and field."""
        return ConfigError(text, source=self.source, field=f"{self.path}.{key}")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The merged content of the files in ``paths`` (only those that exist)."""

    paths: tuple[Path, ...]
    current_context: str = ""
    clusters: dict[str, Entry] = field(default_factory=dict)
    users: dict[str, Entry] = field(default_factory=dict)
    contexts: dict[str, Entry] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Return the files as $KUBECONFIG would name them."""
        return ":".join(map(str, self.paths))

    def context(self, name: str | None) -> tuple[str, Entry]:
        """Return the named context, or the current one."""
        chosen = name or self.current_context
        if not chosen:
            problem = f"no context is selected; choose one of: {_names(self.contexts)}"
            raise ConfigError(problem, source=self.source, field="current-context")
        return chosen, self._named("contexts", chosen, "current-context" if not name else "")

    def cluster(self, context: Entry) -> Entry:
        """Return the cluster of a context."""
        name = context.text("cluster")
        if not name:
            raise context.problem("cluster", "the context names no cluster")
        return self._named("clusters", name, f"{context.path}.cluster")

    def user(self, context: Entry) -> Entry | None:
        """Return the user of a context, None if it names none."""
        name = context.text("user")
        return self._named("users", name, f"{context.path}.user") if name else None

    def _named(self, section: str, name: str, referrer: str) -> Entry:
        entries: dict[str, Entry] = getattr(self, section)
        found = entries.get(name)
        if found is None:
            what = section.removesuffix("s")
            problem = f"there is no {what} {name!r}; there are: {_names(entries)}"
            raise ConfigError(problem, source=self.source, field=referrer)
        return found


def read_kubeconfig(paths: Iterable[Path]) -> Kubeconfig:
    """Read and merge the files; each of them must exist."""
    merged = Kubeconfig(paths=tuple(paths))
    current = ""
    for path in merged.paths:
        content = _read(path)
        for section, inner in _SECTIONS.items():
            entries: dict[str, Entry] = getattr(merged, section)
            for name, entry in _entries(content, section, inner, path):
                entries.setdefault(name, entry)
        current = current or str(content.get("current-context") or "")
    return Kubeconfig(merged.paths, current, merged.clusters, merged.users, merged.contexts)


def _read(path: Path) -> JsonObject:
    try:
        content: Json = yaml.load(path.read_bytes(), Loader=_Loader)  # noqa: S506 - safe subclass
    except OSError as error:
        raise ConfigError(f"cannot read it: {error.strerror}", source=path) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # No cause and no excerpt: the parser quotes the line, which may hold a secret.
        raise ConfigError(f"not valid YAML{_position(error)}", source=path) from None
    if content is None:
        return {}
    if not isinstance(content, dict) or content.get("kind", "Config") != "Config":
        raise ConfigError("not a kubeconfig: expected a mapping of kind Config", source=path)
    return content


def _entries(
    content: JsonObject, section: str, inner: str, path: Path
) -> Iterable[tuple[str, Entry]]:
    listed = content.get(section) or []
    if not isinstance(listed, list):
        raise ConfigError("expected a list", source=path, field=section)
    for index, item in enumerate(listed):
        name = item.get("name") if isinstance(item, dict) else None
        if not name:
            problem = "expected an entry with a name"
            raise ConfigError(problem, source=path, field=f"{section}[{index}]")
        where = f"{section}[{name}].{inner}"
        body = item.get(inner) or {}
        if not isinstance(body, dict):
            raise ConfigError("expected a mapping", source=path, field=where)
        yield str(name), Entry(where, path, body)


def _names(entries: dict[str, Entry]) -> str:
    return ", ".join(sorted(entries)) or "none"


def _position(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc] # the C parser, where PyYAML has it
    # Everything but null, true and false stays text: a password of 0123 is not the number 83.
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own way


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
