"""What a command says about its writes.

Result lines go to stdout, with the words that kubectl puts behind those of a dry run. With `-o`
stdout is for the objects alone, and the lines go to stderr.
"""

from dataclasses import dataclass
from typing import Final

from kubectl_kudo.core.arguments import CLIENT, NONE, SERVER
from kubectl_kudo.core.output import JsonObject, many, one, say, talk, without_bookkeeping

_BEHIND: Final = {NONE: "", CLIENT: " (dry run)", SERVER: " (server dry run)"}


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
        """Tell of a write."""
        self.say(f"{text}{_BEHIND[self.mode]}")

    def say(self, text: str) -> None:
        """Tell of something else."""
        (talk if self.output else say)(text)

    def foretell(self, plan: str | None) -> None:
        """Tell which plan would run; after a real write that is seen, not foretold.

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
        """Print the object that a dry run is about, if that was asked for."""
        if self.output:
            print(one(without_bookkeeping(obj), self.output), end="")

    def show_all(self, objects: list[JsonObject]) -> None:
        """Print the objects that a dry run is about, if that was asked for."""
        if self.output:
            print(many(map(without_bookkeeping, objects), self.output), end="")
