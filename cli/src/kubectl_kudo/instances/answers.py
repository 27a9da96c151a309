"""Tells what a write of an Instance has changed, which plan it runs, and how to follow that."""

from collections.abc import Sequence

from kubectl_kudo.reading.instance_state import flags_of, is_suspended
from kubectl_kudo.reading.outcome import triggered_plan
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.session.output import JsonObject, Report
from kubectl_kudo.session.terminal import word


def print_changes(
    report: Report,
    before: JsonObject,
    after: JsonObject,
    changes: Sequence[str],
    *,
    waits: bool = False,
) -> None:
    """Print the changes, the plan, and the command that follows it; a dry run has no such command.

    Args:
        report: Prints the lines.
        before: The Instance before the write.
        after: The Instance that the write returned: its planExecution is what was scheduled.
        changes: A line for each change; see `reading.changes`.
        waits: Whether the command waits for the plan itself.
    """
    for line in change_lines(before, after, changes, dry=report.dry):
        report.say(line)
    if triggered_plan(before, after) and not report.dry and not waits:
        report.say(f"Follow it: kubectl kudo plan status --wait {flags_of(key_of(after))}")


def change_lines(
    before: JsonObject, after: JsonObject, changes: Sequence[str], *, dry: bool
) -> list[str]:
    """Return the changes and the plan; one change and the plan stand in one line.

    Args:
        before: As of `print_changes`.
        after: As of `print_changes`.
        changes: As of `print_changes`.
        dry: Whether nothing is stored.
    """
    plan = _plan(after, triggered_plan(before, after), dry=dry)
    return [f"{changes[0]}; {plan}"] if len(changes) == 1 else [*changes, plan]


def _plan(after: JsonObject, plan: str | None, *, dry: bool) -> str:
    if plan is None:
        return "no plan would run" if dry else "no plan runs"
    if not plan:
        chooses = "would choose" if dry else "chooses"
        return f"the reconciler {chooses} the plan: no webhook of KUDO answered"
    text = f"plan {word(plan)} {'would run' if dry else 'runs'}"
    if is_suspended(after):
        resume = f"kubectl kudo resume {flags_of(key_of(after))}"
        return f"{text} when the instance is resumed ({resume})"
    return text


def nothing_changed(report: Report, instance: JsonObject, why: str) -> None:
    """Print that no write is sent, since it would change nothing."""
    would = "nothing would change" if report.dry else "nothing changed"
    report.say(f"{would}: instance {key_of(instance)} {why}")
