"""`kubectl kudo init`: installs KUDO in a cluster, checks, upgrades and removes it."""

from typing import Final

from kubectl_kudo.session.arguments import GLOBAL_FLAGS, OUTPUT, Args, Flag, seconds
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.output import JsonObject, Report, many, say, talk
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.setup.cluster import kind_of, named
from kubectl_kudo.setup.install import install, install_crds
from kubectl_kudo.setup.manifests import read_crds, read_manifests
from kubectl_kudo.setup.options import (
    Options,
    meaning_of,
    notice,
    original_image,
    read_options,
    settled,
)
from kubectl_kudo.setup.uninstall import Removal, uninstall
from kubectl_kudo.setup.verify import verify

_REQUEST_SECONDS: Final = 75
"""Seconds that a request may take where `--request-timeout` is not given.

The API server waits up to 30 s for each webhook that it calls, such as cert-manager's, and ends a
request after 60 s. A client that gives up before does not learn which webhook did not answer.
"""


def run(args: Args) -> None:
    """Do what the flags ask for: show, install, check or remove."""
    options = read_options(args)
    image = original_image(args)
    if image and not (args.uninstall or args.crd_only):
        talk(meaning_of(image, options))
    if args.client_only:
        # KUDO 0.19 wrote the list of repositories then; its only one is abandoned.
        say("nothing to do: packages come with kubectl kudo until you add repositories")
        return
    if args.dry_run and not args.uninstall:
        _show(args, _objects(args, options))
        return
    # Of the command line only the flags of the connection count: the namespace is that of KUDO,
    # and the CRDs, which other commands check, may be missing.
    flags = {flag.attribute: getattr(args, flag.attribute) for flag in GLOBAL_FLAGS}
    timeout = float(args.request_timeout) or _REQUEST_SECONDS
    changed = {"namespace": options.namespace, "validate_install": False}
    connection = Args(**flags | changed | {"request_timeout": timeout})
    in_session(connection, lambda session: _work(session, args, options))


COMMAND = Command(
    run,
    flags=(
        Flag(("--client-only", "-c"), "accepted for old scripts; does nothing", default=False),
        Flag(("--crd-only",), "install only the CRDs", default=False),
        Flag(("--dry-run",), "contact no cluster; list what would be applied", default=False),
        Flag(OUTPUT.names, "yaml or json: print the manifests, too", OUTPUT.value),
        Flag(
            ("--kudo-image", "-i"),
            "image of webhook or reconciler; may be repeated",
            "service=reference",
            repeat=True,
        ),
        Flag(("--version",), "tag of both images (default: version of this plugin)", "tag"),
        Flag(("--image-registry",), "prefix of the names of the images", "registry"),
        Flag(
            ("--kudo-image-pull-policy",),
            "Always, IfNotPresent or Never (default: IfNotPresent)",
            "policy",
            "IfNotPresent",
        ),
        Flag(
            ("--service-account",),
            "existing account for the reconciler (default: one is created)",
            "name",
            "kudo-reconciler",
        ),
        Flag(
            ("--unsafe-self-signed-webhook-ca",),
            "the webhook issues and renews its certificate; cert-manager is not needed",
            default=False,
        ),
        Flag(
            ("--tenancy",),
            "strict: plans have the rights of a service account of their namespace; compat: those "
            "of KUDO (default: what is installed has, else compat)",
            "mode",
        ),
        Flag(("--wait", "-w"), "wait until KUDO works", default=False),
        Flag(
            ("--wait-timeout",),
            "how long to wait, in seconds or as 5m (default: 300s)",
            "time",
            0,
            convert=seconds,
        ),
        Flag(("--upgrade",), "upgrade what is installed to this version", default=False),
        Flag(("--verify",), "change nothing; check what is installed", default=False),
        Flag(("--take-over",), "replace KUDO 0.19, keeping all Instances", default=False),
        Flag(("--uninstall",), "remove KUDO; the CRDs and their objects stay", default=False),
        Flag(
            ("--delete-crds",),
            "with --uninstall: remove the CRDs and all objects, too",
            default=False,
        ),
        Flag(("--yes",), "with --uninstall: do not ask for confirmation", default=False),
    ),
    more="The default namespace is kudo-system; another one must exist. The command can be "
    "repeated: it\napplies what is missing or differs. Without --unsafe-self-signed-webhook-ca, "
    "cert-manager\nprovides the webhook's certificate.\n\n"
    "With --wait the command ends when the API server calls the webhook and the reconciler works.\n"
    "With --take-over it always waits for that: until then the webhook of KUDO 0.19 stays.\n\n"
    "With --dry-run no cluster is asked: the tenancy is compat unless --tenancy is given, and with "
    "strict\nthe roles are those for Kubernetes 1.36 or newer.",
    examples=(
        (
            "Install without cert-manager, and wait until it works",
            "init --unsafe-self-signed-webhook-ca --wait",
        ),
        (
            "Plans have the rights of an account of their namespace",
            "init --unsafe-self-signed-webhook-ca --tenancy strict --wait",
        ),
        ("The manifests, for GitOps; no cluster is contacted", "init --dry-run -o yaml"),
        (
            "Images from a registry of your own",
            "init --image-registry registry.example.com/kudo --wait",
        ),
        ("Upgrade to the version of this plugin", "init --upgrade --wait"),
        ("Is everything as it should be?", "init --verify"),
        ("Replace KUDO 0.19", "init --take-over"),
        ("Remove it; the CRDs and all Instances stay", "init --uninstall"),
    ),
)


async def _work(session: Session, args: Args, options: Options) -> None:
    client = session.client
    if args.uninstall:
        await uninstall(client, options, Removal(args.yes, args.delete_crds, args.dry_run))
        return
    if args.verify:
        await verify(client, await settled(client, options, args.tenancy), wait=args.wait)
        return
    report = Report(output=args.output)
    if not args.crd_only:
        # An upgrade without --tenancy keeps the mode that is installed.
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


def _objects(args: Args, options: Options) -> list[JsonObject]:
    return list(read_crds()) if args.crd_only else read_manifests(options).all()


def _show(args: Args, objects: list[JsonObject]) -> None:
    if args.output:
        print(many(objects, args.output), end="", flush=True)
        return
    for obj in objects:
        say(f"{named(kind_of(obj), obj['metadata']['name'])} applied (dry run)")
    talk("with -o yaml or -o json, the manifests are printed")
