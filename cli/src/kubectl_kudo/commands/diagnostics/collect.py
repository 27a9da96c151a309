"""`kubectl kudo diagnostics collect`: the flags, and what they mean."""

import re

from kubectl_kudo.session.arguments import INSTANCE, Args, Flag, seconds
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError

_SIZE = re.compile(r"(\d{1,9})(Ki|Mi|Gi)?", re.ASCII)
_UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def size(text: str) -> int:
    """Read `65536`, `500Ki` or `10Mi`."""
    match = _SIZE.fullmatch(text)
    if match is None or not int(match[1]):
        raise ValueError("not a number of bytes such as 500Ki or 10Mi")
    return int(match[1]) * _UNITS[match[2] or ""]


def run(args: Args) -> None:
    if args.all and args.instance:
        raise UsageError("give either '--instance' or '--all', not both")
    if not args.all and not args.instance:
        raise UsageError('required flag(s) "instance" not set; --all collects all instances')
    from kubectl_kudo.diagnostics.collect_files import collect

    collect(args)


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--all",), "collect all instances of the namespace", default=False),
        Flag(
            ("--output-directory", "-O"),
            "folder to write, or archive if it ends with .tgz or .tar.gz (default: diag)",
            "path",
            "diag",
        ),
        Flag(
            ("--log-since",),
            "how far back logs go, such as 30m or 2h (default: 0, all)",
            "time",
            0,
            convert=seconds,
        ),
        Flag(
            ("--log-limit",),
            "how much of the end of each log, such as 500Ki or 20Mi (default: 5Mi)",
            "bytes",
            5 * 2**20,
            convert=size,
        ),
        Flag(
            ("--kudo-namespace",),
            "namespace of KUDO's services (default: where they are found)",
            "name",
        ),
    ),
    more=(
        "Nothing in the cluster is changed. Collected are the instance and its children, what\n"
        "they own, the logs of their pods, events, and KUDO's own services. Values of Secrets,\n"
        "parameters that templates put into Secrets, and what is named like a password are\n"
        "replaced by (redacted), wherever they occur. Look through the files before you give them\n"
        "away: no tool knows every secret.\n\n"
        "What looks wrong is printed, and written to SUMMARY.txt. What could not be read is in\n"
        "files that end with .err; the rest is collected nevertheless."
    ),
    examples=(
        ("An instance, into the folder diag", "diagnostics collect --instance web"),
        ("As an archive", "diagnostics collect --instance web -O web.tgz"),
        ("The logs of the last hour of all", "diagnostics collect --all -O all --log-since 1h"),
    ),
)
