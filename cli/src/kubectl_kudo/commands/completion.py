"""`kubectl kudo completion`: the script that a shell loads to complete command lines."""

from kubectl_kudo.completion.scripts import SHELLS, script
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or args.arguments[0] not in SHELLS:
        given = " ".join(args.arguments) or "nothing"
        raise UsageError(f"expecting exactly one argument - {', '.join(SHELLS)} - and not {given}")
    print(script(args.arguments[0]), end="")


COMMAND = Command(
    run,
    "bash|zsh|fish|powershell|kubectl",
    more="Names of instances, plans, parameters, packages, repositories, namespaces and contexts\n"
    "are completed as well. A cluster or a repository that has to be asked has two seconds to\n"
    "answer; after that, and after any error, no name is offered.\n\n"
    "The scripts complete `kubectl-kudo`. Kubectl itself, from 1.26 on, completes `kubectl kudo`\n"
    "if an executable `kubectl_complete-kudo` is in the PATH: `completion kubectl` prints it.",
    examples=(
        ("Bash: load it in ~/.bashrc", "completion bash > ~/.kudo-completion.bash"),
        ("Zsh: a file in a folder of $fpath", "completion zsh > ~/.zfunc/_kubectl-kudo"),
        ("Fish", "completion fish > ~/.config/fish/completions/kubectl-kudo.fish"),
        ("PowerShell: load it in $PROFILE", "completion powershell > kubectl-kudo.ps1"),
        (
            "For `kubectl kudo`; then: chmod +x ~/.local/bin/kubectl_complete-kudo",
            "completion kubectl > ~/.local/bin/kubectl_complete-kudo",
        ),
    ),
)
