"""`kubectl kudo repo index`: writes the index of a folder of packages."""

from kubectl_kudo.core.arguments import SKIP_VERIFY, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory containing the operators to package"
        )
    if args.merge and args.merge_repo:
        raise UsageError("specify either 'merge' or 'merge-repo', not both")
    if args.url and args.url_repo:
        raise UsageError("specify either 'url' or 'url-repo', not both")
    from kubectl_kudo.repositories.build_index import build_index

    build_index(args, args.arguments[0])


COMMAND = Command(
    run,
    "<folder>",
    (
        Flag(("--url",), "URL that the folder will have (default: http://localhost/)", "url"),
        Flag(("--url-repo",), "take that URL from the repository of this name", "name"),
        Flag(("--merge",), "add what the index below this URL or in this folder has", "url"),
        Flag(("--merge-repo",), "add what the repository of this name has", "name"),
        Flag(("--overwrite", "-w"), "replace an index.yaml that exists", default=False),
        SKIP_VERIFY,
    ),
    more="All .tgz files of the folder itself are read. One that is no package, or that install "
    "refuses, is\nleft out with a warning.",
    examples=(
        ("The index of packages to be uploaded", "repo index dist --url https://example.org/v1"),
        ("Keep what is published already", "repo index dist --url-repo own --merge-repo own -w"),
    ),
)
