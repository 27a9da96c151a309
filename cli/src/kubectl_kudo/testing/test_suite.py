"""Does what the flags of `kubectl kudo test` ask for."""

from collections.abc import Callable
from typing import Final

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import UsageError

_EXCLUSIVE: Final = ("watch", "new", "render_only", "clean")
"""Flags that ask for something else than one run, of which one can be given."""


def test_suite(args: Args) -> None:
    """Run suites, or compare golden manifests, write a first case, delete what a run left.

    Raises:
        UsageError: flags contradict each other.
        CliError: something is wrong with a suite, or a case failed.
    """
    asked = [name for name in _EXCLUSIVE if getattr(args, name)]
    if len(asked) > 1:
        flags = " and ".join(f"'--{name.replace('_', '-')}'" for name in asked)
        raise UsageError(f"{flags} can not be used at the same time")
    if args.update and not args.render_only:
        raise UsageError("'--update' is only useful when using the flag '--render-only'")
    _work(asked[0] if asked else "")(args)


def _work(asked: str) -> Callable[[Args], None]:
    """Return what does it; each imports only what it needs."""
    match asked:
        case "new":
            from kubectl_kudo.testing.authoring.new_case import new_case

            return new_case
        case "render_only":
            from kubectl_kudo.testing.golden.compare import compare_golden

            return compare_golden
        case "clean":
            from kubectl_kudo.testing.cleaning import clean

            return clean
        case _:
            from kubectl_kudo.testing.suite_run import run_suites

            return run_suites
