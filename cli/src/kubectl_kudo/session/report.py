"""Prints the result lines of commands.

They go to stdout, with the suffix that kubectl gives those of a dry run. With `-o` stdout is for
the objects alone, and the lines go to stderr.
"""

from dataclasses import dataclass
from typing import Final

from kubectl_kudo.session.arguments import CLIENT, NONE, SERVER
from kubectl_kudo.session.output import JsonObject, many, one, say, talk, without_bookkeeping
from kubectl_kudo.session.terminal import continued

_SUFFIX: Final = {NONE: "", CLIENT: " (dry run)", SERVER: " (server dry run)"}


@dataclass(frozen=True, slots=True)
class Report:
    """Prints the results of one command.

    Attributes:
        mode: The value of `--dry-run`.
        output: The value of `-o`.
    """

    mode: str = NONE
    output: str = ""

    @property
    def dry(self) -> bool:
        """Whether nothing is stored."""
        return self.mode != NONE

    def done(self, text: str) -> None:
        """Print a line about a write."""
        self.say(f"{text}{_SUFFIX[self.mode]}")

    def say(self, text: str) -> None:
        """Print any other text; its further lines are indented."""
        (talk if self.output else say)(continued(text))

    def foretell(self, plan: str | None) -> None:
        """Print which plan a dry run would start; prints nothing after a real write.

        Args:
            plan: The plan; empty if the reconciler would choose it, None if none would run.
        """
        if not self.dry:
            return
        if plan is None:
            self.say("no plan would run")
        elif plan:
            self.say(f"plan {plan} would run")
        else:
            self.say("the reconciler would choose the plan: no webhook of KUDO answered")

    def show(self, obj: JsonObject) -> None:
        """Print the object that would be written, if `-o` was given."""
        if self.output:
            print(one(without_bookkeeping(obj), self.output), end="")

    def show_all(self, objects: list[JsonObject]) -> None:
        """Print the objects that would be written, if `-o` was given."""
        if self.output:
            print(many(map(without_bookkeeping, objects), self.output), end="")
