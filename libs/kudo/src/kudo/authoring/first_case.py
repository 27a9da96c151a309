"""The first test case of a package: it installs, updates and uninstalls an Instance."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from goyaml import is_plain_string
from kudo.packages.model import Package, PackageParameter
from kudo.parameters.bound_texts import sample
from kudo.parameters.types import is_container
from kudo.verification.parameters import bounds_fault, declared

CASE: Final = "tests/install"
"""The folder of the case in that of the package."""
INSTANCE: Final = "app"
SECRET: Final = f"{INSTANCE}-parameters"
"""The Secret with the values of secret parameters, which no command line may have."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/-]+")
"""Values that mean themselves in a command line and in YAML."""
_FALLBACK: Final = "deploy"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a parameter, and the plan that it runs."""

    parameter: str
    value: str
    plan: str


@dataclass(frozen=True, slots=True)
class FirstCase:
    """What the case does.

    Attributes:
        values: Values of parameters that an Instance needs and that have no default, as a shell
            reads them.
        secrets: Values of those among them that are secret, as they are. A step before the
            installation puts them into a Secret.
        change: The update; None if no parameter can be changed by itself.
        installed: More documents to assert after the installation.
        changed: More documents to assert after the update.
        removed: More documents of objects that must not exist in the end.
    """

    values: Mapping[str, str]
    change: Change | None
    installed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)

    @property
    def values_file(self) -> str:
        """The name of the file with `values`."""
        return f"{len(self._before()):02}-install.yaml"

    @property
    def secrets_file(self) -> str:
        """The name of the file with `secrets`, if there are any."""
        return "00-secrets.yaml"

    def _before(self) -> Mapping[str, str]:
        # A step of its own: commands of a step run before its objects are applied.
        return {self.secrets_file: _SECRETS + _secret(self.secrets)} if self.secrets else {}

    def files(self) -> Mapping[str, str]:
        """Return the texts of the files by their name in the folder of the case."""
        install = f"kubectl kudo install ../.. --instance {INSTANCE}"
        values = [f"-p {name}={value}" for name, value in self.values.items()]
        values += [f"-p {name}@secret={SECRET}/{name}" for name in self.secrets]
        first = len(self._before())
        files = {
            **self._before(),
            self.values_file: _ABOUT + _step(" ".join([install, *values])),
            f"{first:02}-assert.yaml": _ASSERT + _documents(_complete(_FALLBACK), *self.installed),
            f"{first:02}-errors.yaml": _ERRORS + _instance() + _status(_FALLBACK, "FATAL_ERROR"),
        }
        if self.change is not None:
            asserts = _documents(_complete(self.change.plan, self.change), *self.changed)
            value = f"{self.change.parameter}={self.change.value}"
            update = f"kubectl kudo update --instance {INSTANCE} -p {value} --wait"
            files[f"{first + 1:02}-update.yaml"] = _step(update)
            files[f"{first + 1:02}-assert.yaml"] = asserts
        uninstall = f"kubectl kudo uninstall --instance {INSTANCE} --wait"
        files[f"{first + 2:02}-uninstall.yaml"] = _step(uninstall)
        files[f"{first + 2:02}-errors.yaml"] = _GONE + _documents(_instance(), *self.removed)
        return files


def first_case(package: Package) -> FirstCase:
    """Return the first case of a package.

    The update changes the first parameter that names a plan, or else the first, of those whose
    type has another value that is surely valid.
    """
    plans = package.operator.plans or {}
    needed = [
        parameter
        for parameter in package.parameters
        if parameter.required and not parameter.has_default and not is_container(parameter.type)
    ]
    return FirstCase(
        values={one.name: _shell(_valid(one)) for one in needed if not one.secret},
        secrets={one.name: _valid(one) for one in needed if one.secret},
        change=_change(package.parameters, tuple(plans)),
    )


def _valid(parameter: PackageParameter) -> str:
    if parameter.enum:
        return _text(parameter.enum[0])
    return sample(parameter.type, declared(parameter).bounds) or "change-me"


def _change(parameters: Sequence[PackageParameter], plans: Sequence[str]) -> Change | None:
    ordered = sorted(parameters, key=lambda parameter: not parameter.trigger)
    for parameter in ordered:
        # The value of a secret one stands in no command line.
        fixed = parameter.immutable or parameter.secret
        value = None if fixed else _other(parameter)
        plan = parameter.trigger or ("update" if "update" in plans else _FALLBACK)
        if value is not None and plan in plans:
            return Change(parameter.name, value, plan)
    return None


def _other(parameter: PackageParameter) -> str | None:
    """Return a valid value that differs from the one of a new Instance; None if none is known."""
    now = parameter.default if parameter.has_default else _valid(parameter)
    if parameter.enum:
        others = (_shell(value) for value in parameter.enum if _text(value) != _text(now))
        return next(others, None)
    text = str(now)
    if parameter.type == "boolean":
        return "false" if text.lower() == "true" else "true"
    if parameter.type == "integer" and re.fullmatch(r"-?[0-9]{1,9}", text):
        others = (str(int(text) + step) for step in (1, -1))
        return next((value for value in others if not bounds_fault(parameter, value)), None)
    return None


def _text(value: object) -> str:
    return "true" if value is True else "false" if value is False else str(value)


def _shell(value: object) -> str:
    text = _text(value)
    # `$$` is a dollar sign in the commands of a test case.
    return text if _PLAIN.fullmatch(text) else shlex.quote(text).replace("$", "$$")


def _step(command: str) -> str:
    plain = re.fullmatch(r"[A-Za-z0-9_.:/= -]+", command) is not None and ": " not in command
    line = command if plain else json.dumps(command, ensure_ascii=False)
    return f"""\
apiVersion: kuttl.dev/v1beta1
kind: TestStep
commands:
  - command: {line}
    namespaced: true
"""


def _secret(values: Mapping[str, str]) -> str:
    lines = [f"  {_key(name)}: {json.dumps(text)}\n" for name, text in values.items()]
    return f"""\
apiVersion: v1
kind: Secret
metadata:
  name: {SECRET}
stringData:
{"".join(lines)}"""


def _documents(*documents: str) -> str:
    return "---\n".join(documents)


def _instance() -> str:
    return f"""\
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata:
  name: {INSTANCE}
"""


def _complete(plan: str, change: Change | None = None) -> str:
    spec = ""
    if change is not None:
        # Without it the assert would hold before the update, if the plan has run already.
        value = json.dumps(shlex.split(change.value)[0], ensure_ascii=False)
        spec = f"spec:\n  parameters:\n    {_key(change.parameter)}: {value}\n"
    return _instance() + spec + _status(plan, "COMPLETE")


def _status(plan: str, status: str) -> str:
    return f"status:\n  planStatus:\n    {_key(plan)}:\n      status: {status}\n"


def _key(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) and is_plain_string(name)
    return name if plain else json.dumps(name)


_ABOUT: Final = """\
# Each folder of tests/ is a test case, with a namespace of its own; files with the same number are
# a step of it. Run them with `kubectl kudo test .` in the folder of the package.
"""
_SECRETS: Final = """\
# Values of secret parameters, for this test alone: write nothing here that is secret elsewhere.
"""
_ASSERT: Final = """\
# What has to exist in the end; fields that are not named here may have any value.
"""
_ERRORS: Final = """\
# What must not be.
"""
_GONE: Final = """\
# What must not be there any more.
"""
