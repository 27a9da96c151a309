"""`kubectl kudo test`: runs the test suites of packages."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kubectl_kudo.commands.test.golden import compare_golden
from kubectl_kudo.commands.test.leftovers import clean
from kubectl_kudo.commands.test.session import run_suites
from kubectl_kudo.packages.package_folder import package_folder
from kubectl_kudo.session.arguments import Args, Flag, number, seconds
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.output import say
from kubectl_kudo.session.terminal import word
from kudo.authoring.first_case import CASE, first_case
from kudo.packages.reader import read_package

MOST_PARALLEL = 64
"""Cases that may run at a time, as in a TestSuite."""
_NOT_SET = ""
_NO_NUMBER = -1
"""The values of flags that are not given: the suite file says, or else the default."""


def _parallel(text: str) -> int:
    value = number(text)
    if not 1 <= value <= MOST_PARALLEL:
        raise ValueError(f"must be 1 to {MOST_PARALLEL}")
    return value


def _one_of(*words: str) -> Callable[[str], str]:
    """Return a conversion to one of these words, which may be written in any case."""

    def word(text: str) -> str:
        # argparse converts the default as well.
        if text and text.lower() not in words:
            raise ValueError(f"must be {' or '.join(words)}")
        return text.lower()

    return word


def new_case(args: Args) -> None:
    """Write the first case of a package into its folder `tests/install`.

    Raises:
        UsageError: more than one package is named.
        CliError: there is such a case, or it cannot be written.
        InvalidInput: the package cannot be read.
    """
    if len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - folder of the operator")
    package = Path(args.arguments[0]) if args.arguments else package_folder()
    if package.is_file():
        raise CliError(f"{package} is an archive; a case is written into the folder of a package")
    case = first_case(read_package(package))
    folder = package / CASE
    texts = case.files()
    try:
        folder.parent.mkdir(exist_ok=True)
        # Fails if it exists, so that no case of the author is overwritten.
        folder.mkdir()
        for name, text in texts.items():
            write_file(folder / name, text.encode())
    except FileExistsError:
        raise CliError(f"{folder} exists; --new writes only the first case of a package") from None
    except OSError as error:
        raise CliError(f"cannot write {folder}: {error.strerror or error}") from error
    for name in texts:
        say(f"written: {folder / name}")
    for values, file in ((case.values, case.values_file), (case.secrets, case.secrets_file)):
        for name, value in values.items():
            asked = f"{name} has no default; is {value} a good value? It stands in {file}"
            say(word(asked))
    say(f"Run it with `kubectl kudo test {_shown(package)}`.")


def _shown(package: Path) -> str:
    return str(package) if package.is_absolute() else f"./{package}"


_WORK: Final[Mapping[str, Callable[[Args], None]]] = {
    "watch": run_suites,
    "new": new_case,
    "render_only": compare_golden,
    "clean": clean,
}
"""What flags ask for in place of one run; one of them can be given."""


def run(args: Args) -> None:
    """Run suites, or compare golden manifests, write a first case, delete what a run left.

    Raises:
        UsageError: flags contradict each other.
        CliError: something is wrong with a suite, or a case failed.
    """
    asked = [name for name in _WORK if getattr(args, name)]
    if len(asked) > 1:
        flags = " and ".join(f"'--{name.replace('_', '-')}'" for name in asked)
        raise UsageError(f"{flags} can not be used at the same time")
    if args.update and not args.render_only:
        raise UsageError("'--update' is only useful when using the flag '--render-only'")
    _WORK.get(asked[0] if asked else "", run_suites)(args)


_SUITE = (
    Flag(
        ("--config",),
        "suite file (default: kudo-test.yaml, then kuttl-test.yaml, in the working directory or "
        "the only directory given)",
        "file",
    ),
    Flag(("--test",), "run only cases whose name has a match", "regex"),
    Flag(("--crd-dir",), "folder of CRDs to create first", "folder"),
    Flag(
        ("--manifest-dir", "--manifests-dir"),
        "folder of objects to create next; may be repeated",
        "folder",
        repeat=True,
    ),
    Flag(
        ("--parallel",),
        "cases that run at a time (default: 8)",
        "number",
        _NO_NUMBER,
        convert=_parallel,
    ),
    Flag(
        ("--timeout",),
        "time for the asserts of a step, such as 90 or 2m (default: 30s)",
        "time",
        _NO_NUMBER,
        convert=seconds,
    ),
    Flag(
        ("--list-matching",),
        "how lists of asserts are compared: position or name (default: position)",
        "how",
        convert=_one_of("position", "name"),
    ),
    Flag(("--suppress-log",), "leave this out of the log: events", "what", repeat=True),
    Flag(
        ("--test-run-labels",),
        "labels of the run, name=value,..., which TestFiles select; may be repeated",
        "labels",
        repeat=True,
    ),
    Flag(
        ("--template-var",),
        "variable .Vars.<name> of .gotmpl.yaml files; may be repeated",
        "name=yaml",
        repeat=True,
    ),
    Flag(("--skip-delete",), "keep namespaces and objects", default=_NOT_SET),
)
_CLUSTER = (
    Flag(("--start-control-plane",), "start a local control plane", default=_NOT_SET),
    Flag(("--start-kind",), "the same, for suites that use kind", default=_NOT_SET),
    Flag(("--kind-config",), "configuration of kind; its workers become nodes", "file"),
    Flag(("--kind-context",), "accepted for old scripts; does nothing", "name"),
    Flag(("--start-kudo",), "run KUDO on the local control plane", default=_NOT_SET),
    Flag(
        ("--attach-control-plane-output",),
        "show the logs of the local control plane on stderr",
        default=_NOT_SET,
    ),
    Flag(("--skip-cluster-delete",), "let the local control plane run on", default=_NOT_SET),
    Flag(("--allow-faults",), "let steps cause faults on a cluster of yours", default=False),
)
_REPORTS = (
    Flag(("--artifacts-dir",), "folder of reports and logs", "folder"),
    Flag(
        ("--report",),
        "json or xml: write a report, to the folder of --artifacts-dir or the working directory",
        "format",
        convert=_one_of("json", "xml"),
    ),
    Flag(("--report-name",), "name of the report (default: kuttl-report)", "name"),
    Flag(
        ("--report-granularity",),
        "step or test: what a test case of the report is (default: step)",
        "what",
        convert=_one_of("step", "test"),
    ),
)
_OTHERS = (
    Flag(("--watch",), "run cases again when their files change, until Ctrl-C", default=False),
    Flag(("--new",), "write a first case for the package in the folder", default=False),
    Flag(
        ("--render-only",),
        "compare what packages render with the files in their folder golden; no cluster",
        default=False,
    ),
    Flag(("--update",), "with --render-only: write these files", default=False),
    Flag(("--clean",), "delete what a run left that was killed", default=False),
)
COMMAND = Command(
    run,
    "[folder...]",
    (*_SUITE, *_CLUSTER, *_REPORTS, *_OTHERS),
    more="Each folder in a folder that is given is a case, which runs in a namespace of its own; "
    "of packages,\nthe cases are in their folder tests. Suites of KUDO 0.19 and kuttl work "
    "unchanged: where one asks\nfor kind or a control plane, a local control plane is started, "
    "unless --kubeconfig or --context\nnames a cluster. With --namespace all cases run in one "
    "namespace.\n\n"
    "What is wrong with the files is reported before anything runs. Nothing is written into the "
    "working\ndirectory unless a flag or the suite file asks for it.",
    examples=(
        ("Run the cases of a package on the cluster of the kubeconfig", "test ./web"),
        ("Run one of them, and give each step 2 minutes", "test ./web --test install --timeout 2m"),
        ("Write a report for CI", "test ./web --report xml --artifacts-dir results"),
        ("Write a first case for a package", "test --new ./web"),
        ("Keep what a package renders, to see changes in review", "test --render-only ./web"),
    ),
)
