"""Reconcilers that are none: what is done to them is written down."""

from dataclasses import dataclass, field


@dataclass
class Recorded:
    """Processes that only write down what is done to them."""

    done: list[str] = field(default_factory=list)

    def kill(self, name: str) -> None:
        self.done.append(f"kill {name}")

    def pause(self, name: str) -> None:
        self.done.append(f"pause {name}")

    def resume(self, name: str) -> None:
        self.done.append(f"resume {name}")
