"""Throw random and damaged templates at the engine, and watch what comes out.

Usage: python -m tests.golden.fuzz [--seconds N] [--seed N]

The corpus are the templates of all golden cases. Each is parsed and rendered under small limits
and in little memory, and then under the limits for event loops (`INLINE`). Whatever leaves the
engine must be a text or a `TemplateError`. No template may use more CPU of its thread than
`BUDGET`, or `LOOP_BUDGET` under the limits for event loops. Exit status 1 otherwise; the offending
template is printed and the seed finds it again.
"""

import argparse
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gotemplate import INLINE, Environment, Limits, TemplateError, preload
from tests.golden.case import STANDARD

BUDGET: Final = 2.0  # seconds of CPU for parsing and rendering one template
LOOP_BUDGET: Final = 0.05  # the same, of the thread of an event loop
_MEMORY: Final = 1 << 30
_LIMITS: Final = Limits(
    steps=20_000, seconds=1.0, output=1 << 18, string=1 << 16, items=2_000, expensive=0
)
_ANSWERS: Final = Path(__file__).parent / "answers"
_PIECES: Final = (
    *(
        "{{",
        "}}",
        "{{-",
        " -}}",
        "{{/*",
        "*/}}",
        "|",
        "(",
        ")",
        ".",
        "$",
        "$x",
        ":=",
        "=",
        ",",
        " ",
    ),
    *("if", "else", "end", "range", "with", "define", "block", "template", "break", "continue"),
    *("nil", "true", "'a'", '"', "`", "\\", "%", "0x", "1e999", "-9223372036854775808", "1i", "\0"),
    *("{{end}}", "{{else}}", "{{ range .l }}", "{{ define `a` }}", "{{ template `a` . }}", ".m.c"),
    *("é", "\ud800", "\udcff", "\u2028", "\U0001f600", "\n", "\t", "9" * 400, "((((((((", "((.l))"),
)


@dataclass(slots=True)
class Summary:
    """What a run saw."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_text: str = ""
    slowest_inline: float = 0.0
    slowest_inline_text: str = ""

    @property
    def too_slow(self) -> bool:
        """Whether a template used more CPU than it may."""
        return self.slowest > BUDGET or self.slowest_inline > LOOP_BUDGET

    def lines(self) -> Iterator[str]:
        """Yield a line for every outcome, and the slowest template."""
        yield f"{self.outcomes.total()} templates"
        for outcome, count in self.outcomes.most_common():
            yield f"  {outcome}: {count}"
        yield f"slowest: {self.slowest * 1000:.0f} ms of CPU: {self.slowest_text[:200]!r}"
        milliseconds = f"{self.slowest_inline * 1000:.1f} ms of the thread's CPU"
        yield f"slowest inline: {milliseconds}: {self.slowest_inline_text[:200]!r}"


def corpus() -> list[str]:
    """Give the templates of all golden cases."""
    documents = (json.loads(path.read_text("utf-8")) for path in sorted(_ANSWERS.glob("*.json")))
    return [record["text"] for document in documents for record in document["cases"]]


class Fuzzer:
    """Make templates, and render them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._corpus = corpus()
        self._environment = Environment(limits=_LIMITS, cache_chars=0)
        self._inline = Environment(limits=INLINE, cache_chars=0)
        preload()  # imports at the first call are not the cost of a template
        self._names = sorted(self._environment.function_names)
        self.summary = Summary()

    def step(self) -> None:
        """Try one template.

        Raises:
            Exception: whatever left the engine and is no `TemplateError`, or is one that tells of a
                fault of ours.
        """
        text = self._text()
        try:
            used, outcome = self._timed(self._environment, text)
            inline, _ = self._timed(self._inline, text)
        except Exception as error:
            error.add_note(f"the template: {text!r}")
            raise
        summary = self.summary
        summary.outcomes[outcome] += 1
        if used > summary.slowest:
            summary.slowest, summary.slowest_text = used, text
        if inline > summary.slowest_inline:
            summary.slowest_inline, summary.slowest_inline_text = inline, text

    def _timed(self, environment: Environment, text: str) -> tuple[float, str]:
        """Give the seconds of CPU of this thread, and how it ended."""
        began = time.thread_time()
        outcome = self._outcome(environment, text)
        return time.thread_time() - began, outcome

    def _outcome(self, environment: Environment, text: str) -> str:
        try:
            rendered = environment.parse("fuzz", text).render(STANDARD)
        except TemplateError as error:
            str(error)
            if "internal error" in error.message:
                raise
            if error.limit:
                return f"limit {error.limit}"
            return "failed when executed" if error.executing else "did not parse"
        rendered.encode()
        return "rendered"

    def _text(self) -> str:
        chance = self._random.random()
        if chance < 0.1:
            return self._bytes()
        if chance < 0.2:
            return "{{ " + self._bytes() + " }}"
        if chance < 0.35:
            return self._calls()
        text = self._random.choice(self._corpus)
        for _ in range(self._random.randint(1, 4)):
            text = self._mutated(text)
        return text

    def _bytes(self) -> str:
        raw = self._random.randbytes(self._random.randint(0, 40))
        return raw.decode("utf-8", "surrogateescape")

    def _calls(self) -> str:
        """Make a pipeline of functions with any arguments."""
        operands = (
            ".",
            ".l",
            ".m",
            ".s",
            ".i",
            ".nil",
            ".big",
            "1",
            "-1",
            '"a"',
            "nil",
            "(list 1)",
        )
        commands = []
        for _ in range(self._random.randint(1, 3)):
            count = self._random.randint(0, 4)
            arguments = self._random.choices(operands, k=count)
            commands.append(" ".join([self._random.choice(self._names), *arguments]))
        return "{{ " + " | ".join(commands) + " }}"

    def _mutated(self, text: str) -> str:
        chance = self._random
        start, stop = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        match chance.randrange(6):
            case 0:
                return text[:start] + chance.choice(_PIECES) + text[start:]
            case 1:
                return text[:start] + text[stop:]
            case 2:
                return text[:stop] + text[start:stop] * chance.randint(1, 3) + text[stop:]
            case 3:
                other = chance.choice(self._corpus)
                return text[:start] + other[chance.randrange(len(other) + 1) :]
            case 4:
                return text[:start] + chance.choice(self._names) + text[start:]
            case _:
                return text[:start] + chr(chance.randrange(0x250)) + text[start + 1 :]


def main(arguments: Sequence[str]) -> int:
    """Fuzz for some seconds; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.fuzz")
    parser.add_argument("--seconds", type=float, default=300.0, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    fuzzer = Fuzzer(options.seed)
    until = time.monotonic() + options.seconds
    while time.monotonic() < until and not fuzzer.summary.too_slow:
        fuzzer.step()
    sys.stdout.writelines(f"{line}\n" for line in fuzzer.summary.lines())
    return 1 if fuzzer.summary.too_slow else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
