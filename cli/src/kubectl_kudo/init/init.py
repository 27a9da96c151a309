"""`kubectl kudo init`: installs KUDO in a cluster, checks, upgrades and removes it."""

from kubectl_kudo.core.arguments import OUTPUT, Args, Flag, seconds
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    from kubectl_kudo.init.dispatch import dispatch

    dispatch(args)


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
