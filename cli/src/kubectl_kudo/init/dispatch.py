"""Does what the flags of `kubectl kudo init` ask for: show, install, verify or remove."""

from typing import TYPE_CHECKING, Final

from kubectl_kudo.core.arguments import GLOBAL_FLAGS, Args
from kubectl_kudo.core.output import many, say, talk
from kubectl_kudo.init.options import Options, meaning_of, original_image, read_options

_REQUEST_SECONDS: Final = 75
"""Seconds that a request may take where `--request-timeout` is not given.

The API server waits up to 30 s for each webhook that it calls, such as cert-manager's, and ends a
request after 60 s. A client that gives up before does not learn which webhook did not answer.
"""

if TYPE_CHECKING:
    from kubectl_kudo.core.output import JsonObject
    from kubectl_kudo.core.session import Session


def dispatch(args: Args) -> None:
    """Do what the flags ask for: show, install, check or remove."""
    options = read_options(args)
    image = original_image(args)
    if image and not (args.uninstall or args.crd_only):
        talk(meaning_of(image, options))
    if args.client_only:
        say("nothing to do: packages come with kubectl kudo until you add repositories")
        return
    if args.dry_run and not args.uninstall:
        _show(args, _objects(args, options))
        return
    from kubectl_kudo.core.session import in_session

    in_session(_connection(args, options), lambda session: _work(session, args, options))


def _connection(args: Args, options: Options) -> Args:
    """Return the flags of the connection, without the check of the CRDs, which may be missing."""
    flags = {flag.attribute: getattr(args, flag.attribute) for flag in GLOBAL_FLAGS}
    timeout = float(args.request_timeout) or _REQUEST_SECONDS
    changed = {"namespace": options.namespace, "validate_install": False}
    return Args(**flags | changed | {"request_timeout": timeout})


async def _work(session: "Session", args: Args, options: Options) -> None:
    from kubectl_kudo.init.tenancy import notice, settled

    client = session.client
    if args.uninstall:
        from kubectl_kudo.init.uninstall import Removal, uninstall

        await uninstall(client, options, Removal(args.yes, args.delete_crds, args.dry_run))
        return
    if args.verify:
        from kubectl_kudo.init.verify import verify

        await verify(client, await settled(client, options, args.tenancy), wait=args.wait)
        return
    from kubectl_kudo.core.report import Report
    from kubectl_kudo.init.install import install, install_crds
    from kubectl_kudo.init.manifests import read_crds

    report = Report(output=args.output)
    if not args.crd_only:
        options = await settled(client, options, args.tenancy)
    if args.output:
        _show(args, _objects(args, options))
    if args.crd_only:
        await install_crds(client, options, report, read_crds())
        return
    await install(
        client,
        options,
        report,
        upgrade=args.upgrade,
        take_over=args.take_over,
        wait=args.wait,
    )
    talk(notice(options.tenancy))


def _objects(args: Args, options: Options) -> "list[JsonObject]":
    from kubectl_kudo.init.manifests import read_crds, read_manifests

    return list(read_crds()) if args.crd_only else read_manifests(options).all()


def _show(args: Args, objects: "list[JsonObject]") -> None:
    if args.output:
        print(many(objects, args.output), end="", flush=True)
        return
    from kubectl_kudo.init.kinds import kind_of, named

    for obj in objects:
        say(f"{named(kind_of(obj), obj['metadata']['name'])} applied (dry run)")
    talk("with -o yaml or -o json, the manifests are printed")
