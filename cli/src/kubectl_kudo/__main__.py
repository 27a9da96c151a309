"""The entry point: finds and runs the command, and maps errors to a text and an exit code.

`session.errors` has the exit codes. Tracebacks are shown from `-v 9` on, and before that never.
"""

import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from kubectl_kudo import __version__
from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.commands.complete import complete
from kubectl_kudo.session.arguments import Args, Parser
from kubectl_kudo.session.command import PROGRAM, Command, Group, find
from kubectl_kudo.session.errors import ExitCode, bug, describe, exit_code
from kubectl_kudo.session.terminal import cleaned_streams, without_colours
from kubectl_kudo.session.verbosity import log_to_stderr, show_traceback


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default that of the process, and return the exit code."""
    _write_utf8()
    terminated = False

    def terminate(_: int, __: FrameType | None) -> None:
        nonlocal terminated
        terminated = True
        # What a command does at Ctrl-C, such as to show the cursor again, it does now as well.
        signal.raise_signal(signal.SIGINT)

    if argv is None:
        signal.signal(signal.SIGTERM, terminate)
    with cleaned_streams():
        code = _main(list(sys.argv[1:] if argv is None else argv))
    return ExitCode.TERMINATED if terminated and code == ExitCode.INTERRUPTED else code


def _main(argv: list[str]) -> int:
    try:
        _run(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _after_broken_pipe()
    except Exception as error:  # noqa: BLE001 - a bug, too, is told in a line; see `-v 9`
        text = describe(error)
        print(f"Error: {text or bug(error)}", file=sys.stderr)
        return exit_code(error) if text else ExitCode.ERROR
    return ExitCode.OK


def complete_for_kubectl() -> int:
    """Answer kubectl, which runs `kubectl_complete-kudo` to complete `kubectl kudo`."""
    sys.argv[1:1] = ["__complete"]
    return main()


def _write_utf8() -> None:
    # Trees are drawn with characters that other encodings lack.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")


def _run(argv: list[str]) -> None:
    if argv[:1] == ["--version"]:
        print(f"{PROGRAM} version {__version__}")
        return
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    if argv[:1] in (["__complete"], ["__completeNoDesc"]):
        complete(ROOT, argv)
        return
    node, rest = find(ROOT, argv)
    if isinstance(node, Group):
        # It takes the global flags, so that a wrong one is an error here as well.
        Parser(node.name).parse(rest)
        print(node.help(), end="")
    else:
        _run_command(node, rest)


def _run_command(command: Command, argv: list[str]) -> None:
    parser = command.parser()
    args = parser.parse(argv)
    if not args.color:
        without_colours()
    if args.help:
        print(parser.format_help(), end="")
        return
    command.take_instance(args)
    command.check(args)
    if args.v:
        _run_verbosely(command, args)
    else:
        command.run(args)


def _run_verbosely(command: Command, args: Args) -> None:
    log_to_stderr(args.v)
    try:
        command.run(args)
    except Exception:
        show_traceback(args.v)
        raise


def _after_broken_pipe() -> int:
    # What is left in the buffer must not be written at exit, which would complain again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.ERROR


if __name__ == "__main__":
    sys.exit(main())
