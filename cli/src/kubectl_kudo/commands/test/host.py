"""What a running suite asks of this program: see `kudo_harness.host`."""

from functools import cache
from typing import Final

from kubectl_kudo import __version__
from kubectl_kudo.commands.init import COMMAND as INIT
from kubectl_kudo.reading.plan_view import shown_plan
from kubectl_kudo.reading.runs import entries, status_of
from kubectl_kudo.repositories.downloader import Downloader
from kubectl_kudo.screens.plan_tree import plan_tree
from kubectl_kudo.session.arguments import GLOBAL_FLAGS, Args, Parser
from kubectl_kudo.session.errors import CliError, UsageError, describe
from kubectl_kudo.session.output import Report
from kubectl_kudo.session.session import Session
from kubectl_kudo.session.writes import Sent
from kubeio.client import Client
from kubeio.types import JsonObject
from kudo_harness.host import HarnessError
from kudo_harness.planning.plan import Action, Verdict

_DOWNLOAD_SECONDS: Final = 60.0
"""For each attempt to read a URL."""
_MEANINGLESS: Final = (
    "namespace",
    "kudo_image",
    "version",
    "image_registry",
    "kudo_image_pull_policy",
    "service_account",
)
"""Flags of `init` that say something about pods, which KUDO has none of here."""


class CommandHost:
    """The command `test`, as the suites that it runs see it."""

    user_agent: Final = f"kubectl-kudo/{__version__}"

    def describe(self, error: BaseException) -> str | None:
        return str(error) if isinstance(error, HarnessError) else describe(error)

    def plan_status(self, instance: JsonObject) -> str:
        plan = shown_plan(instance)
        return "" if plan is None else status_of(entries(instance).get(plan) or {})

    async def plan_tree(self, client: Client, instance: JsonObject) -> str:
        # The client is that of the step, which may have a cluster of its own.
        session = Session(client, instance["metadata"]["namespace"], Sent(client), Report())
        try:
            blocks = await plan_tree(session, instance)
        except CliError as error:
            raise HarnessError(describe(error)) from error
        return "".join(block.plain() for block in blocks)

    async def download(self, url: str, limit: int) -> bytes:
        try:
            downloaded = await Downloader(timeout=_DOWNLOAD_SECONDS).get(url, limit=limit)
        except CliError as error:
            raise HarnessError(str(error)) from error
        return downloaded.content or b""


HOST: Final = CommandHost()


def kudo_verdict(arguments: list[str]) -> Verdict:
    """Return what is done for the arguments of `kubectl kudo` on a cluster of the harness.

    `init` installs KUDO there, by processes; other commands run.
    """
    command, rest = _command_word(arguments)
    if command != "init":
        return Verdict()
    try:
        args = _init_parser().parse(rest)
    except UsageError as error:
        return Verdict(problem=str(error))
    return _of_init(args)


def _command_word(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the first word that is no flag, and all others."""
    values = {name for flag in GLOBAL_FLAGS if flag.value for name in flag.names}
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if not word.startswith("-"):
            return word, arguments[:position] + arguments[position + 1 :]
        position += 2 if word in values else 1
    return "", arguments


@cache
def _init_parser() -> Parser:
    return INIT.parser()


def _of_init(args: Args) -> Verdict:
    if args.help or args.dry_run:
        return Verdict()
    if args.uninstall or args.delete_crds or args.take_over:
        return Verdict(
            problem="KUDO runs as processes here and cannot be removed or taken over; run the "
            "suite with --kubeconfig on another cluster"
        )
    if args.verify:
        return Verdict(Action.SKIP, "skipped: the harness itself waits until KUDO works")
    unused = [
        f"--{name.replace('_', '-')}"
        for name in _MEANINGLESS
        if getattr(args, name) != _init_parser().get_default(name)
    ]
    done = "the CRDs are created, and the webhook and the reconciler run as processes"
    if unused:
        done += f"; {', '.join(unused)} {'have' if len(unused) > 1 else 'has'} no meaning there"
    return Verdict(Action.INSTALL_KUDO, done)
