"""`kubectl kudo package new`: writes a first working package."""

from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if args.interactive and len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - name of the operator")
    from kubectl_kudo.authoring.asking import on_terminal

    asked = args.interactive or (not args.arguments and on_terminal())
    if not asked and (len(args.arguments) != 1 or not args.arguments[0]):
        raise UsageError(
            "expecting exactly one argument - name of the operator. Or use -i for interactive mode"
        )
    from kubectl_kudo.authoring.new_package import new_package

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
        Flag(("--kudo-version",), "lowest version of KUDO", "version", "0.19.0"),
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
