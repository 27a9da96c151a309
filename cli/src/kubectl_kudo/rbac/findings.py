"""What the accounts of Instances lack, as a table and as data."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kubectl_kudo.core.cells import NONE, cell, printable
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.table import columns
from kudo.readable_yaml import dump

_HEADING = ("NAMESPACE", "INSTANCE", "ACCOUNT", "LACKS")
_LONGEST = 200


@dataclass(slots=True)
class Finding:
    """What the account of one Instance lacks.

    Attributes:
        lacks: One text for each.
        notes: What could not be found out.
    """

    namespace: str
    instance: str
    account: str
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lack(self, text: str) -> None:
        self.lacks.append(printable(text, _LONGEST))

    def to_data(self) -> JsonObject:
        return {
            "namespace": self.namespace,
            "instance": self.instance,
            "serviceAccountName": self.account,
            "lacks": self.lacks,
            "notes": self.notes,
        }


def table_of(findings: Iterable[Finding]) -> str:
    """Return a table with a row for each thing that is lacking."""
    return columns([_HEADING, *_rows(findings)])


def _rows(findings: Iterable[Finding]) -> Iterator[Sequence[str]]:
    for one in findings:
        for lack in one.lacks or (NONE,):
            yield cell(one.namespace), cell(one.instance), cell(one.account), lack


def data_of(findings: Iterable[Finding], output: str) -> str:
    """Return a list of the findings in JSON or YAML."""
    data = [one.to_data() for one in findings]
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n" if output == "json" else dump(data)
