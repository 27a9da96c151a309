"""Reads kubeconfig files and merges several of them, as kubectl does.

The first file that defines a cluster, user, context or current-context wins. A relative path is
relative to the file that contains it. A ConfigError names file, field and what to do.
"""

import base64
import binascii
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubeio.errors import ConfigError
from kubeio.types import Json, JsonObject

_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}
_FILES = (
    "certificate-authority",
    "client-certificate",
    "client-key",
    "idp-certificate-authority",
    "tokenFile",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A named cluster, user or context, and the file that defines it. Contains secrets."""

    path: str
    source: Path
    body: JsonObject = field(repr=False)

    def text(self, key: str) -> str:
        """Return a scalar field as text, empty if it is missing."""
        value = self.body.get(key)
        if value is None:
            return ""
        if isinstance(value, dict | list):
            raise self.problem(key, "expected text")
        return str(value)

    def flag(self, key: str) -> bool:
        """Return a boolean field, False if it is missing."""
        value = self.body.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.problem(key, "expected true or false")

    def pem(self, key: str) -> JsonObject:
        """Return ``<key>-data``, checked, or else ``<key>``, a file that exists; or nothing."""
        data = self.text(f"{key}-data")
        if not data:
            return self.file(key)
        try:
            base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            problem = "not base64; encode the PEM file with `base64 -w0`"
            raise self.problem(f"{key}-data", problem) from None
        return {f"{key}-data": data}

    def file(self, key: str) -> JsonObject:
        """Return the field of a path, which must exist; nothing if the field is missing."""
        name = self.text(key)
        if name and not Path(name).is_file():
            raise self.problem(key, f"no such file: {name}")
        return {key: name} if name else {}

    def problem(self, key: str, text: str) -> ConfigError:
        """Return the error that names this entry's file and field."""
        return ConfigError(
            text, source=self.source, field=f"{self.path}.{key}" if self.path else ""
        )


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The merged content of the files in ``paths``."""

    paths: tuple[Path, ...]
    current_context: str = ""
    clusters: dict[str, Entry] = field(default_factory=dict)
    users: dict[str, Entry] = field(default_factory=dict)
    contexts: dict[str, Entry] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Return the paths, joined as in $KUBECONFIG."""
        return ":".join(map(str, self.paths))

    def context(self, name: str | None) -> tuple[str, Entry]:
        """Return the name and the content of a context, by default of the current one."""
        chosen = name or self.current_context
        if not chosen:
            problem = f"no context is selected; choose one of: {_names(self.contexts)}"
            raise ConfigError(problem, source=self.source, field="current-context")
        return chosen, self._named("contexts", chosen, "current-context" if not name else "")

    def cluster(self, context: Entry) -> Entry:
        """Return the cluster of a context."""
        name = context.text("cluster")
        if not name:
            raise context.problem("cluster", "the context has no cluster")
        return self._named("clusters", name, f"{context.path}.cluster")

    def user(self, context: Entry) -> Entry | None:
        """Return the user of a context, None if it has none."""
        name = context.text("user")
        return self._named("users", name, f"{context.path}.user") if name else None

    def _named(self, section: str, name: str, referrer: str) -> Entry:
        entries: dict[str, Entry] = getattr(self, section)
        entry = entries.get(name)
        if entry is None:
            what = section.removesuffix("s")
            problem = f"{what} {name!r} does not exist; choose one of: {_names(entries)}"
            raise ConfigError(problem, source=self.source, field=referrer)
        return entry


def read_kubeconfig(paths: Iterable[Path]) -> Kubeconfig:
    """Read and merge files, which must exist."""
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


def document(
    name: str, *, cluster: JsonObject, user: JsonObject, context: JsonObject | None = None
) -> JsonObject:
    """Return a kubeconfig of one context, whose cluster and user have its name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {**(context or {}), "cluster": name, "user": name}}],
        "users": [{"name": name, "user": user}],
    }


def _read(path: Path) -> JsonObject:
    try:
        content: Json = yaml.load(path.read_bytes(), Loader=_Loader)  # noqa: S506 - safe subclass
    except OSError as error:
        raise ConfigError(f"cannot read the file: {error.strerror}", source=path) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # Neither cause nor excerpt: the parser quotes the line, which may contain a secret.
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"not valid YAML{place}", source=path) from None
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
        yield str(name), Entry(where, path, _absolute(body, path.absolute().parent))


def _absolute(body: JsonObject, folder: Path) -> JsonObject:
    """Return the entry with its paths made absolute."""
    fields: JsonObject = {key: _resolved(key, value, folder) for key, value in body.items()}
    plugin = fields.get("exec")
    # A bare name is looked up in the PATH.
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command") or ""):
        fields["exec"] = {**plugin, "command": str(folder / str(plugin["command"]))}
    provider = fields.get("auth-provider")
    if isinstance(provider, dict) and isinstance(provider.get("config"), dict):
        config = {key: _resolved(key, text, folder) for key, text in provider["config"].items()}
        fields["auth-provider"] = {**provider, "config": config}
    return fields


def _resolved(key: str, value: Json, folder: Path) -> Json:
    if key in _FILES and value and isinstance(value, str):
        return str(folder / Path(value).expanduser())
    return value


def _names(entries: dict[str, Entry]) -> str:
    return ", ".join(sorted(entries)) or "none"


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc] # the C parser, where PyYAML has it
    # Scalars other than null, true and false stay text: a password 0123 is not the number 83.
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own way


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
