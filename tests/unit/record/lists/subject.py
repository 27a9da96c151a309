"""Lists: reasons, codes of findings, metrics, fields of the CRDs, objects of the chart."""

from collections.abc import Iterator

from tests.unit.record.lists import chart, crds, metrics, reasons


def files() -> Iterator[tuple[str, str]]:
    yield "lists/reasons.txt", reasons.reasons()
    yield "lists/codes.txt", reasons.codes()
    yield "lists/metrics.txt", metrics.text()
    yield "lists/crds.txt", crds.text()
    yield "lists/chart.txt", chart.text()
