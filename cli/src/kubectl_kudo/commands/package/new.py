"""`kubectl kudo package new`: writes a first working package."""

from collections.abc import Iterator
from pathlib import Path

from kubectl_kudo.packages.package_folder import write_changes, write_folder
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.asking import (
    ask,
    needed,
    on_terminal,
    operator_name_fault,
    optional_email_fault,
    optional_version_fault,
    version_fault,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.output import say
from kudo.api.names import EXTENDED
from kudo.authoring.edit import files_of
from kudo.authoring.skeleton import NewPackage, skeleton
from kudo.packages.files import OPERATOR_FILE


def run(args: Args) -> None:
    if args.interactive and len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - name of the operator")
    asked = args.interactive or (not args.arguments and on_terminal())
    if not asked and (len(args.arguments) != 1 or not args.arguments[0]):
        raise UsageError(
            "expecting exactly one argument - name of the operator. Or use -i for interactive mode"
        )
    new_package(args, asked=asked)


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(("--interactive", "-i"), "ask for everything", default=False),
        Flag(("--overwrite", "-w"), "write into a folder that exists", default=False),
        Flag(("--folder",), "folder to write (default: operator)", "folder", "operator"),
        Flag(("--description",), "what it does, as search shows it", "text"),
        Flag(("--operator-version",), "version of the package", "version", "0.1.0"),
        Flag(("--app-version",), "version of the application", "version"),
        Flag(("--kudo-version",), "lowest version of KUDO", "version", EXTENDED),
        Flag(("--kubernetes-version",), "lowest version of Kubernetes", "version", "1.30.0"),
        Flag(("--url",), "website of the project", "url"),
        Flag(("--maintainer-name",), "name of the maintainer", "name"),
        Flag(("--maintainer-email",), "address of the maintainer", "email"),
    ),
    more="It has a deploy plan, a Deployment with two parameters, and a test case for `kubectl "
    "kudo test`.\nWithout a name, the command asks if it runs on a terminal. With --overwrite, "
    "operator.yaml is\nreplaced and every other file that exists stays as it is.",
    examples=(
        ("Write ./operator", "package new web"),
        ("Write ./web, and ask for nothing", "package new web --folder web --app-version 1.27.0"),
    ),
)


def new_package(args: Args, *, asked: bool) -> None:
    """Write the package and say what comes next.

    Args:
        args: The flags; they are the defaults of the answers.
        asked: Whether to ask.

    Raises:
        CliError: the folder exists, or a text is not valid.
    """
    if Path(OPERATOR_FILE).exists():
        raise CliError(
            f"{OPERATOR_FILE} exists in the current directory.  creating an operator in an "
            "operator is not supported"
        )
    name = args.arguments[0] if args.arguments else ""
    folder, new = _answers(args, name) if asked else (Path(args.folder), _described(args, name))
    # Answers were checked one by one, the values of flags were not.
    faults = list(filter(None, _faults(new)))
    if faults:
        raise CliError("; ".join(faults))
    folder = folder.expanduser()
    if folder.exists() and not args.overwrite:
        raise CliError(f'folder "{folder}" already exists; write into it with --overwrite')
    files = skeleton(new)
    if folder.exists():
        kept = {path for path in files if path != OPERATOR_FILE and (folder / path).exists()}
        changes = {path: text for path, text in files.items() if path not in kept}
        write_changes(folder, files_of(folder), changes)
    else:
        write_folder(folder, files)
    say(_hint(folder))


def _described(args: Args, name: str) -> NewPackage:
    return NewPackage(
        name=name,
        description=args.description,
        operator_version=args.operator_version,
        app_version=args.app_version,
        kudo_version=args.kudo_version,
        kubernetes_version=args.kubernetes_version,
        url=args.url,
        maintainer_name=args.maintainer_name,
        maintainer_email=args.maintainer_email,
    )


def _answers(args: Args, name: str) -> tuple[Path, NewPackage]:
    name = ask("Operator Name", name, operator_name_fault)
    folder = Path(ask("Operator directory", args.folder, needed))
    return folder, NewPackage(
        name=name,
        description=args.description,
        operator_version=ask("Operator Version", args.operator_version, version_fault),
        app_version=ask("Application Version (optional)", args.app_version, optional_version_fault),
        kudo_version=ask("Required KUDO Version", args.kudo_version, version_fault),
        kubernetes_version=ask(
            "Required Kubernetes Version", args.kubernetes_version, version_fault
        ),
        url=ask("Project URL (optional)", args.url),
        maintainer_name=ask("Maintainer Name (optional)", args.maintainer_name),
        maintainer_email=ask(
            "Maintainer Email (optional)", args.maintainer_email, optional_email_fault
        ),
    )


def _faults(new: NewPackage) -> Iterator[str]:
    yield operator_name_fault(new.name)
    yield version_fault(new.operator_version)
    yield optional_version_fault(new.app_version)
    yield optional_version_fault(new.kudo_version)
    yield version_fault(new.kubernetes_version)
    yield optional_email_fault(new.maintainer_email)


def _hint(folder: Path) -> str:
    # A bare word would be the name of a package in a repository.
    place = folder if folder.is_absolute() else f"./{folder}"
    return "\n".join(
        [
            "Operator created. Use",
            f"  kubectl kudo package render {place}    to see what it applies,",
            "  kubectl kudo package add --help    to add tasks, plans, parameters and templates,",
            f"  kubectl kudo test {place}    to test it on a cluster,",
            f"  kubectl kudo install {place}    to install it.",
        ]
    )
