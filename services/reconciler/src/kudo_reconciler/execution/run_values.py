"""The values that a run takes from Secrets and ConfigMaps, and what keeps secret ones confidential.

They are read when the run begins (`controller.parameter_sources`) and kept in its memory alone.
Templates see all of them; expressions, whose results end up in statuses, those that are no secret.
What a template made that uses a secret one is *confidential*: its digests have the key of the
installation, or there are none, and of a refusal nothing is told that may quote it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from gotemplate import INLINE, Environment, TemplateError
from kudo.api import JsonObject, OperatorVersion
from kudo.api.known_secrets import Confidential, is_secret
from kudo.api.problems import Problem
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.dependency_hash import keyed_digest
from kudo.plans.runs.last_run import NO_SOURCES, Sources
from kudo.tasks.usage import usage_of

_PARSED: Final = 64 << 10
"""Characters of a template that an event loop parses; a larger one counts as using everything."""
_ENVIRONMENT: Final = Environment(policy="operator", missing_key="error", limits=INLINE)


@dataclass(frozen=True)
class RunValues:
    """The values that a run has read.

    Attributes:
        texts: By parameter.
        secret: The parameters among them whose values nobody may see.
        missing: Why those have no value that a cleanup runs without, by parameter.
        sources: What `status.lastRun` tells of where they come from.
        key: Of the installation; digests of what is confidential have it.
    """

    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: frozenset[str] = frozenset()
    missing: Mapping[str, Problem] = field(default_factory=dict)
    sources: Sources = NO_SOURCES
    key: bytes = field(default=b"", repr=False)

    @cached_property
    def confidential(self) -> Confidential:
        """What removes the secret values from texts."""
        return Confidential(self.texts[name] for name in self.secret)

    @cached_property
    def _uses(self) -> dict[str, bool]:
        """Whether templates use a secret value, by name: a run keeps its OperatorVersion."""
        return {}

    def of(self, values: Mapping[str, str], *, secret: bool = True) -> Mapping[str, str]:
        """Return the values of an Instance together with these.

        Args:
            values: Those of the Instance.
            secret: Whether secret ones are among them.
        """
        if not self.texts:
            return values
        hidden = frozenset() if secret else self.secret
        read = {name: text for name, text in self.texts.items() if name not in hidden}
        return {**values, **read}

    def is_confidential(self, version: OperatorVersion, template: str) -> bool:
        """Return whether what a template makes may have a secret value."""
        if not self.secret:
            return False
        if template not in self._uses:
            text = (version.spec.templates or {}).get(template)
            # Texts in the spec of a task have names of their own.
            self._uses[template] = text is None or self._may_use(template, text)
        return self._uses[template]

    def _may_use(self, name: str, text: str) -> bool:
        if len(text) > _PARSED:
            return True
        try:
            usage = usage_of(_ENVIRONMENT.parse(name, text).tree)
        except TemplateError:
            return True
        used = {*usage.parameters, *usage.conditions}
        return usage.everything or not self.secret.isdisjoint(used)

    def keyed(self, digest: bytes, obj: JsonObject, *, confidential: bool) -> bytes:
        """Return the digest of the content of a ConfigMap or Secret as pods may have it.

        Of a run with secret values that of every Secret is keyed: an earlier task, or another
        Instance, may have made it from one.
        """
        if self.secret and (confidential or is_secret(obj)):
            return keyed_digest(digest, self.key)
        return digest

    def explained(self, error: FatalTaskError) -> FatalTaskError:
        """Return the error of a rendering, with why a value is missing that it needs."""
        for name, problem in self.missing.items():
            if f'"{name}"' in str(error):
                return FatalTaskError(problem.reason, f"{error}: {problem.message}")
        return error


NO_VALUES: Final = RunValues()
