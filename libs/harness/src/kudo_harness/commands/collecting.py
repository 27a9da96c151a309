"""Commands of collectors: what shows logs and events after a failed assert."""

from typing import Final

from kudo_harness.suite import Collector, CollectorType, Command

_SELECTED: Final = 10
"""Lines of each log, where pods are selected by label."""
_ALL: Final = -1
_SECONDS: Final = 30
"""Logs may be followed by mistake; a collector must not hold the run."""


def collecting_command(collector: Collector, namespace: str) -> Command:
    """Return the command of a collector; its failure fails nothing.

    Args:
        collector: The collector.
        namespace: That of the case, unless the collector has its own.
    """
    return Command(
        command=_line(collector, collector.namespace or namespace),
        ignore_failure=True,
        timeout=_SECONDS,
        place=collector.place,
    )


def _line(collector: Collector, namespace: str) -> str:
    match collector.type:
        case CollectorType.COMMAND:
            return collector.command
        case CollectorType.EVENTS:
            words = ["kubectl", "get", "events", *_of_pod(collector.pod), "-n", namespace]
        case CollectorType.POD:
            words = ["kubectl", "logs", "--prefix", *_pods(collector), "-n", namespace]
            words += ["-c", collector.container] if collector.container else ["--all-containers"]
            words.append(f"--tail={_tail(collector)}")
    return " ".join(_quoted(word) for word in words)


def _of_pod(pod: str) -> list[str]:
    return ["--field-selector", f"involvedObject.name={pod}"] if pod else []


def _pods(collector: Collector) -> list[str]:
    return ["-l", collector.selector] if collector.selector else [collector.pod]


def _tail(collector: Collector) -> int:
    if collector.tail is not None:
        return collector.tail
    return _SELECTED if collector.selector else _ALL


def _quoted(word: str) -> str:
    """Return a word as `words.split` reads it; variables in it are still replaced."""
    if word and not set(word) & set(" \t\r\n\"'\\#"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
