"""The verification that `install` and `upgrade` make before they create anything."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError, ExitCode
from kubectl_kudo.core.output import talk
from kubectl_kudo.packages.findings import located_message
from kudo.packages import Located, Resolution
from kudo.problems import MOST_PROBLEMS
from kudo.verification import softened, verify, verify_dependencies
from kudo.verification.codes import OF_NEW_INSTANCES


def verify_before_install(args: Args, located: Located, resolution: Resolution) -> None:
    """Refuse a package that has errors, and say how many warnings it has.

    Args:
        args: The command line, with `--skip-verify`.
        located: The package.
        resolution: The package with all that is installed with it.

    Raises:
        CliError: the package or a dependency has errors; the text lists them.
    """
    if args.skip_verify:
        return
    findings = softened((*verify(located.package), *verify_dependencies(located, resolution)))
    errors = [
        finding for finding in findings if finding.is_error and finding.code not in OF_NEW_INSTANCES
    ]
    if errors:
        texts = [located_message(finding) for finding in errors[:MOST_PROBLEMS]]
        more = len(errors) - len(texts)
        texts += [f"and {more} more"] if more else []
        lines = "\n  ".join("\n".join(texts).split("\n"))
        raise CliError(
            f"the package has {_counted(len(errors), 'error')}, so nothing is changed; correct "
            f"that, or leave the verification out with --skip-verify:\n  {lines}",
            code=ExitCode.INVALID,
        )
    tolerated = [finding for finding in findings if finding.tolerated]
    for finding in tolerated[:MOST_PROBLEMS]:
        talk(f"Warning: {located_message(finding)}")
    warnings = sum(not finding.is_error for finding in findings)
    if warnings > len(tolerated[:MOST_PROBLEMS]):
        counted = _counted(warnings, "warning")
        talk(f"Package verification: {counted}; kubectl kudo package verify shows them")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
