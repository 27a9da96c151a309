"""What one namespace may have of the reconciler, so that it does not slow down others."""

from dataclasses import dataclass
from typing import Any, Final

from serving.settings import Option, Share, share_options, take_share, within

_OPERATIONS = Share(64, 16)
_LONG_OPERATIONS = Share(256, 64)
_RUN_EVENTS = Share(4000, 1000)
_OTHER_EVENTS = Share(1000, 250)
_EVENT_WRITERS = Share(4, 3)
_MANY: Final = 10_000
_EVENTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Fairness:
    """The limits of the reconciler, each with that of one namespace.

    Attributes:
        workers: Instances of one namespace reconciled at the same time; None for three quarters of
            the workers.
        operations: Operations that run at the same time.
        long_operations: The same for those that called `takes_long`, such as copying files: they
            mostly wait.
        run_events: Waiting start and end events of runs.
        other_events: Other waiting events; each may be a few KiB long.
        event_writers: Tasks that write events.
    """

    workers: int | None = None
    operations: Share = _OPERATIONS
    long_operations: Share = _LONG_OPERATIONS
    run_events: Share = _RUN_EVENTS
    other_events: Share = _OTHER_EVENTS
    event_writers: Share = _EVENT_WRITERS

    @classmethod
    def take(cls, values: dict[str, Any]) -> "Fairness":
        """Remove the values of `fairness_options` from those of all options, and return them.

        Raises:
            ValueError: they contradict each other, or the number of workers in `values`.
        """
        workers, own = values["workers"], values.pop("namespace_workers")
        if own is not None and own >= workers:
            raise ValueError(f"--namespace-workers ({own}) must be below --workers ({workers})")
        return cls(
            workers=own,
            operations=take_share(values, "operations"),
            long_operations=take_share(values, "long-operations"),
            run_events=take_share(values, "run-events"),
            other_events=take_share(values, "other-events"),
            event_writers=take_share(values, "event-writers"),
        )


USUAL: Final = Fairness()


def fairness_options(env_prefix: str) -> tuple[Option, ...]:
    """Return the options; `Fairness.take` reads their values."""
    return (
        Option(
            "--namespace-workers",
            env_prefix + "NAMESPACE_WORKERS",
            "Instances of one namespace reconciled at the same time; less than --workers, without "
            "it three quarters of them.",
            type=within(1, 999),
        ),
        *share_options(
            *(env_prefix, "operations", USUAL.operations),
            "Operations, such as applying the objects of a task, at the same time",
            _MANY,
        ),
        *share_options(
            *(env_prefix, "long-operations", USUAL.long_operations),
            "Operations that mostly wait, such as copying files of pods, at the same time",
            _MANY,
        ),
        *share_options(
            *(env_prefix, "run-events", USUAL.run_events),
            "Events of starts and ends of runs that wait to be written",
            _EVENTS,
        ),
        *share_options(
            *(env_prefix, "other-events", USUAL.other_events),
            "Other events that wait to be written",
            _EVENTS,
        ),
        *share_options(
            *(env_prefix, "event-writers", USUAL.event_writers),
            "Events written at the same time",
            64,
        ),
    )
