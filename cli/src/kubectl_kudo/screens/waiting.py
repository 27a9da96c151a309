"""Waits for a run or for the deletion of an Instance, and shows the progress."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass

from kubectl_kudo.reading.events import warnings_of
from kubectl_kudo.reading.explanations import Waiting, explanations, waiting_steps
from kubectl_kudo.reading.instance_state import flags_of, is_deleting, is_suspended, see_why
from kubectl_kudo.reading.log_ends import SECONDS, LogReader
from kubectl_kudo.reading.outcome import (
    Outcome,
    State,
    Target,
    advance,
    outcome_of,
    outcome_of_cancel,
    outcome_of_removal,
)
from kubectl_kudo.reading.plan_view import Explanation
from kubectl_kudo.reading.run_progress import TimeLimits
from kubectl_kudo.reading.runs import COMPLETE, active, entry_of, status_of
from kubectl_kudo.screens.progress import Lines, Progress
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session
from kubectl_kudo.session.terminal import continued, is_dumb, terminal_size
from kubeio.backoff import Backoff
from kubeio.client import Client
from kubeio.errors import ConnectionLost, Gone, KubeError, ServerError, TooManyRequests


async def observe(
    client: Client, namespace: str, name: str
) -> AsyncGenerator[JsonObject | None, None]:
    """Yield the Instance as it is and as it changes; None while there is none.

    Never ends by itself; close it. Changes between two connections may be missed, but not
    the state after them.

    Raises:
        KubeError: the API server returned an error that a retry does not change.
    """
    backoff, lost = Backoff(cap=5.0), False
    while True:
        failure: KubeError | None = None
        try:
            async with aclosing(_until_lost(client, namespace, name)) as states:
                async for state in states:
                    backoff.reset()
                    lost = False
                    yield state
        except _TRANSIENT as error:
            failure = error
            if not lost and not isinstance(error, Gone):
                talk(f"lost the watch of instance {namespace}/{name}, trying again: {error}")
            lost = True
        # Also after a watch that ended as planned: a proxy may end each of them at once.
        await asyncio.sleep(backoff.next(failure))


async def _until_lost(
    client: Client, namespace: str, name: str
) -> AsyncGenerator[JsonObject | None, None]:
    only = f"metadata.name={name}"
    listing = await client.list(INSTANCES, namespace=namespace, field_selector=only)
    yield listing.items[0] if listing.items else None
    watch = client.watch(
        INSTANCES,
        namespace=namespace,
        field_selector=only,
        resource_version=listing.resource_version,
    )
    async with aclosing(watch) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                yield None if event.type == "DELETED" else event.object


_TRANSIENT = (ConnectionLost, Gone, ServerError, TooManyRequests)
"""Errors of a watch that pass: Gone as well, since the list before the next watch is a new one."""
_EXPLAIN_SECONDS = 5.0
"""Time between two looks at the objects that steps wait for."""
_GIVE_UP_SECONDS = 5.0
"""Time that the last of these looks may take, when the wait is over, beside that of logs."""
_UNSEEN = Outcome(State.WAITING, "its state could not be read yet")
OutcomeOf = Callable[[Target, JsonObject | None], Outcome]


class TimedOut(CliError):
    """The time to wait is over; the text says what was waited for."""

    code = ExitCode.TIMED_OUT


@dataclass(frozen=True, slots=True)
class End:
    """How a wait ended: the Instance, None if there is none, and the uid of the run."""

    instance: JsonObject | None
    uid: str


async def wait_for(
    session: Session,
    target: Target,
    *,
    limit: int,
    progress: Progress,
    outcome_of: OutcomeOf = outcome_of,
    logs: bool = True,
) -> End:
    """Return the Instance at the end of the run.

    After ctrl-C, as after a timeout, the run goes on: a text says so, and how to see or cancel it.

    Args:
        session: The connection.
        target: What to wait for.
        limit: Seconds to wait; 0 for no limit.
        progress: Shows each state; the caller closes it.
        outcome_of: Decides when it is over.
        logs: Whether the text of a failure has the ends of logs.

    Raises:
        CliError: the run failed; the text has its Warnings, and the events of what it waited for.
        TimedOut: it did not end in time; the text has these events.
    """
    wait = _Wait(target, outcome_of, progress)
    try:
        async with asyncio.timeout(limit or None), asyncio.TaskGroup() as tasks:
            ticker = tasks.create_task(wait.tick(), name="ticker")
            explainer = tasks.create_task(wait.explain(session), name="explainer")
            await wait.until_over(session)
            # Neither ends by itself, and a task group waits for its tasks.
            ticker.cancel()
            explainer.cancel()
    except TimeoutError:
        text = f"timed out waiting for the condition after {limit}s: {continued(wait.outcome.text)}"
        raise TimedOut(
            _joined(text, await wait.explanation(session), wait.how_to_go_on())
        ) from None
    except asyncio.CancelledError:
        # A picture that is drawn again would take the place of the text.
        progress.close()
        talk(f"\nStopped waiting for instance {target.key}. {wait.how_to_go_on()}")
        raise
    if wait.outcome.state is State.FAILED:
        failure = wait.outcome.text
        warnings = await warnings_of(session, wait.instance, wait.target.uid, shown=failure)
        explained = await wait.explanation(session, LogReader(session.client) if logs else None)
        advice = see_why(wait.target.key) if wait.instance is not None else ""
        text = _joined(continued(failure), warnings, explained, advice)
        raise CliError(text, code=ExitCode.PLAN_FAILED)
    return End(wait.instance, wait.target.uid)


def _joined(*texts: str) -> str:
    return "\n".join(filter(None, texts))


def _lines_of(explained: Explanation) -> Iterator[str]:
    """Yield an explanation as lines of an error; those of a log as wide as the terminal."""
    yield f"  {explained}"
    lines = [f"    {line}" for line in explained.lines or ()]
    if lines and sys.stderr.isatty():
        # Who waits in a pipe needs no rich.
        from kubectl_kudo.session.screen import cut

        columns, _ = terminal_size(sys.stderr)
        lines = [cut(line, columns) for line in lines]
    yield from lines


@dataclass(slots=True)
class _Wait:
    target: Target
    outcome_of: OutcomeOf
    progress: Progress
    outcome: Outcome = _UNSEEN
    instance: JsonObject | None = None

    async def until_over(self, session: Session) -> None:
        namespace, _, name = self.target.key.partition("/")
        async with aclosing(observe(session.client, namespace, name)) as states:
            async for self.instance in states:
                self.target = advance(self.target, self.instance)
                self.progress.show(self.instance)
                self.outcome = self.outcome_of(self.target, self.instance)
                if self.outcome.state is not State.WAITING:
                    return

    def how_to_go_on(self) -> str:
        """Return what becomes of the run, and the commands to see and to cancel it."""
        key, flags = self.target.key, flags_of(self.target.key)
        if self.outcome_of is outcome_of_removal:
            return f"The deletion goes on in the cluster.\n{see_why(key)}"
        if self.outcome_of is outcome_of_cancel:
            return f"The plan stays cancelled.\nSee its end: kubectl kudo plan wait {flags}"
        if self.instance is not None and is_suspended(self.instance):
            goes_on = f"when the instance is resumed: kubectl kudo resume {flags}"
        else:
            goes_on = "in the cluster."
        return (
            f"The plan goes on {goes_on}\n{see_why(key)}\n"
            f"See it: kubectl kudo plan wait {flags}\nCancel it: kubectl kudo plan cancel {flags}"
        )

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.progress.tick()

    async def explain(self, session: Session) -> None:
        """Show what steps wait for, until cancelled; nothing is read for a run that goes on."""
        while True:
            await asyncio.sleep(_EXPLAIN_SECONDS)
            self.progress.explain(await explanations(session, self._waiting_steps()))

    async def explanation(self, session: Session, logs: LogReader | None = None) -> str:
        """Return what the steps of the run waited for, as further lines of an error."""
        try:
            async with asyncio.timeout(_GIVE_UP_SECONDS + (SECONDS if logs else 0)):
                by_step = await explanations(session, self._waiting_steps(), logs=logs)
        except TimeoutError:
            return ""
        # Steps that wait for the same object have the same lines.
        explained = dict.fromkeys(line for lines in by_step.values() for line in lines)
        return "\n".join(text for line in explained for text in _lines_of(line))

    def _waiting_steps(self) -> list[Waiting]:
        if self.instance is None:
            return []
        recorded = entry_of(self.instance, self.target.uid)
        if recorded is not None:
            return waiting_steps(self.instance, recorded[0])
        run = active(self.instance)
        if run is None or not is_deleting(self.instance):
            return []
        # The cleanup plan was not known when the wait for a deletion began.
        return waiting_steps(self.instance, run.plan)


async def shown_on_stderr(session: Session, instance: JsonObject) -> Progress:
    """Return the progress display for stderr: a picture on a terminal, else lines.

    It goes without time limits, and the picture without plans, if the OperatorVersion cannot be
    read: they are an addition to the status.
    """
    try:
        version = await session.version_of(instance) or {}
    except KubeError:
        version = {}
    limits = TimeLimits(version)
    if is_dumb() or not sys.stderr.isatty():
        return Lines(sys.stderr, limits=limits)
    # Who waits in a pipe needs no rich.
    from kubectl_kudo.screens.picture import Picture

    return Picture(sys.stderr, (version.get("spec") or {}).get("plans") or {}, limits=limits)


async def wait_and_show(
    session: Session,
    target: Target,
    instance: JsonObject,
    *,
    limit: int,
    outcome_of: OutcomeOf = outcome_of,
) -> JsonObject | None:
    """Wait for a run, showing its progress on stderr; return the Instance at its end.

    Raises:
        CliError: the run failed, or did not end in time.
    """
    progress = await shown_on_stderr(session, instance)
    progress.show(instance)
    try:
        end = await wait_for(session, target, limit=limit, progress=progress, outcome_of=outcome_of)
    except TimedOut as error:
        raise TimedOut(f"failed to wait on instance {target.key}: {error}") from None
    finally:
        progress.close()
    await tell_warnings(session, end)
    return end.instance


async def tell_warnings(session: Session, end: End) -> None:
    """Tell the Warnings of a run that succeeded, such as a field that was left out."""
    recorded = entry_of(end.instance, end.uid) if end.instance else None
    if recorded is not None and status_of(recorded[1]) == COMPLETE:
        warnings = await warnings_of(session, end.instance, end.uid)
        if warnings:
            talk(warnings)
