"""`kubectl kudo repo serve`: serves a folder of packages as a repository, to try it."""

from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError("expecting exactly one argument - directory of the packages to serve")
    from kubectl_kudo.repositories.serve_folder import serve

    serve(args)


COMMAND = Command(
    run,
    "<folder>",
    (
        Flag(
            ("--address",),
            "address and port to listen on (default: 127.0.0.1:8080; port 0: any free one)",
            "host:port",
            "127.0.0.1:8080",
        ),
    ),
    more="For trying packages on this machine: without TLS and without credentials. The index is "
    "made\nof the .tgz files at each request and not written; only they are served.",
    examples=(("Then: kubectl kudo repo add own http://127.0.0.1:8080", "repo serve dist"),),
)
