"""`python -m tools.campaigns [NAME...]`: run the campaigns, and write `.kudo/campaigns.json`.

A campaign takes too long for each change; a release needs all of them green (docs/releasing.md).
Exit codes: 0 all that were run are green, 1 some are not.

The report keeps what was run before for the same commit, so that campaigns may be run one by one.
It holds the commit, whether the working tree was clean, and for each campaign: the command, exit
code, seconds, CPU seconds, the failed tests, and the last lines that it printed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
_REPORT: Final = Path(".kudo/campaigns.json")
_LINES: Final = 60
_PYTEST: Final = ("-m", "pytest", "-q", "--durations=20")
_PARALLEL: Final = ("--numprocesses=2", "--dist=loadfile")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A command that Python runs.

    Attributes:
        subject: What it is about, for `--help`.
        arguments: Of Python.
        environment: Set beside that of this process.
    """

    subject: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


CAMPAIGNS: Final[Mapping[str, Campaign]] = {
    "integration": Campaign(
        "tests on a real API server that take too long for a landing",
        (*_PYTEST, *_PARALLEL, "--tier=campaigns", "tests/integration"),
    ),
    "scenarios": Campaign(
        "all scenarios on a real API server",
        (*_PYTEST, *_PARALLEL, "--world=real", "tests/scenarios"),
    ),
    "units": Campaign(
        "unit tests with all their cases",
        (*_PYTEST, *_PARALLEL, "tests/unit"),
        (("KUDO_ALL_CASES", "1"),),
    ),
    "properties": Campaign(
        "properties with many random examples",
        (*_PYTEST, *_PARALLEL, "-m", "hypothesis", "tests/unit"),
        (("HYPOTHESIS_PROFILE", "deep"),),
    ),
    "matrix": Campaign(
        "every write and watch of the reconciler broken, in memory",
        ("-m", "tests.unit.reconciler.matrix"),
    ),
    "faults": Campaign(
        "hostile tenants, slow steps, and writes and watches broken on a real API server",
        ("-m", "tests.faults"),
    ),
    "incidents": Campaign(
        "what goes wrong in clusters, made to happen on a real node",
        (*_PYTEST, "--numprocesses=0", "--tier=campaigns", "tests/e2e"),
    ),
    "galera": Campaign("a database for its life on a real node", ("-m", "tests.galera")),
    "bench": Campaign("speed and memory", ("-m", "tests.bench")),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a campaign.

    Attributes:
        command: Arguments of Python, after what is set in the environment.
        exit_code: 0 if it is green.
        seconds, cpu: On the clock, and of all its processes that were waited for.
        failures: The lines of failed tests or cells.
        last_lines: Of its output, with its figures.
    """

    command: str
    exit_code: int
    seconds: float
    cpu: float
    failures: list[str]
    last_lines: list[str]


def run(campaign: Campaign) -> Outcome:
    """Run a campaign; its output is shown as it comes."""
    command = [sys.executable, *campaign.arguments]
    began, before = time.monotonic(), _cpu()
    # The end has the figures; the whole output may be many megabytes.
    lines: deque[str] = deque(maxlen=_LINES)
    failures: list[str] = []
    with subprocess.Popen(
        command,
        cwd=_ROOT,
        env={**os.environ, **dict(campaign.environment)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            # At each line: a campaign takes hours, and its output is often a pipe.
            sys.stdout.flush()
            lines.append(line.rstrip("\n"))
            if line.startswith(("FAILED ", "ERROR ")) or line.rstrip().endswith(" failed"):
                failures.append(line.rstrip("\n"))
    return Outcome(
        " ".join((*(f"{name}={value}" for name, value in campaign.environment), *command[1:])),
        process.returncode,
        round(time.monotonic() - began, 1),
        round(_cpu() - before, 3),
        failures,
        list(lines),
    )


def _cpu() -> float:
    # Counts processes once they have ended, so it is read before and after a campaign.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True, slots=True)
class Tree:
    """The sources that campaigns run on."""

    commit: str
    clean: bool

    @classmethod
    def here(cls) -> "Tree":
        return cls(_git("rev-parse", "HEAD"), clean=not _git("status", "--porcelain"))


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def earlier(report: Path, tree: Tree) -> dict[str, object]:
    """Return the outcomes on record for the same sources; none if they have uncommitted changes."""
    try:
        results = json.loads(report.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    same = tree.clean and results["clean"] and results["commit"] == tree.commit
    return dict(results["campaigns"]) if same else {}


def write(report: Path, tree: Tree, outcomes: Mapping[str, object]) -> None:
    """Write the report in place of the one before."""
    report.parent.mkdir(parents=True, exist_ok=True)
    beside = report.with_suffix(".new")
    text = json.dumps({**asdict(tree), "campaigns": outcomes}, indent=1)
    beside.write_text(f"{text}\n", encoding="utf-8")
    beside.replace(report)


def table(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """Yield a line for each campaign that was run."""
    for name, outcome in outcomes.items():
        end = "green" if outcome.exit_code == 0 else f"exit code {outcome.exit_code}"
        minutes = outcome.seconds / 60
        yield f"{name:12} {minutes:6.1f} min {outcome.cpu:8.0f} s of CPU  {end}"


def main() -> int:
    subjects = "\n".join(f"  {name:12} {one.subject}" for name, one in CAMPAIGNS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tools.campaigns",
        description=f"{(__doc__ or '').partition(chr(10))[0]}\n\n{subjects}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help="only these campaigns", metavar="NAME")
    names = parser.parse_args().name
    if unknown := sorted(set(names) - set(CAMPAIGNS)):
        parser.error(f"no campaign {', '.join(unknown)}; there are {', '.join(CAMPAIGNS)}")
    tree, done = Tree.here(), dict[str, Outcome]()
    kept = earlier(_ROOT / _REPORT, tree)
    for name, campaign in CAMPAIGNS.items():
        if not names or name in names:
            sys.stdout.write(f"\n##### {name}: {campaign.subject}\n")
            done[name] = run(campaign)
            kept[name] = asdict(done[name])
            write(_ROOT / _REPORT, tree, kept)
    sys.stdout.writelines(["\n", *(f"{line}\n" for line in table(done)), f"{_REPORT}\n"])
    return int(any(outcome.exit_code for outcome in done.values()))


if __name__ == "__main__":
    sys.exit(main())
