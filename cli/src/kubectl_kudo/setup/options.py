"""The flags of `kubectl kudo init`, checked against each other, and the mode of tenancy."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kubectl_kudo import __version__
from kubectl_kudo.accounts.actors import mode_of
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import check_format
from kubectl_kudo.setup.cluster import RECONCILER, find, minor_version
from kubeio.client import Client
from kubeio.resource import DEPLOYMENTS

DEFAULT_NAMESPACE: Final = "kudo-system"
DEFAULT_ACCOUNT: Final = "kudo-reconciler"
SERVICES: Final = ("webhook", "reconciler")
WAIT_SECONDS: Final = 300
"""Seconds to wait without `--wait-timeout`."""

STRICT, COMPAT = "strict", "compat"
_CONSTRAINED_SINCE: Final = (1, 36)
_NOTICES: Final = {
    COMPAT: "tenancy is compat, as with KUDO 0.19: plans have the rights of KUDO; with --tenancy "
    "strict, those of an account of their namespace",
    STRICT: """\
tenancy is strict: plans have the rights of a service account of their namespace
  let KUDO act as the accounts of a namespace: kubectl kudo rbac --namespace NAMESPACE
  the rights that an account needs:            kubectl kudo rbac PACKAGE
Both print objects: pass them to kubectl apply""",
}
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_IMAGE: Final = re.compile(r"[a-zA-Z0-9][\w./:@-]*", re.ASCII)
_REGISTRY: Final = re.compile(r"[a-zA-Z0-9][\w./:-]*", re.ASCII)
_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_CHOICE: Final = (
    "give --kudo-image webhook=<reference> and --kudo-image reconciler=<reference>, or "
    "--image-registry <registry> and --version <tag>"
)
_TWO_IMAGES: Final = f"KUDO has two images: {_CHOICE}"


@dataclass(frozen=True, slots=True)
class Options:
    """What is installed, and where.

    Attributes:
        namespace: Of both services.
        service_account: Account of the reconciler; `init` creates the default one only.
        images: Reference of the image of each service.
        pull_policy: Of both images.
        built_in: Whether the webhook issues its certificate, instead of cert-manager.
        wait_seconds: Time to wait for each step.
        tenancy: Whose rights plans have: `strict` or `compat`.
        constrained: Whether the API server has constrained impersonation.
    """

    namespace: str
    service_account: str
    images: Mapping[str, str]
    pull_policy: str
    built_in: bool
    wait_seconds: int
    tenancy: str = COMPAT
    constrained: bool = True


def read_options(args: Args) -> Options:
    """Check the flags and return what they ask for.

    Raises:
        UsageError: a flag is invalid, or flags contradict each other.
    """
    if args.arguments:
        raise UsageError("this command does not accept arguments")
    check_format(args.output)
    for wrong, text in _COMBINATIONS:
        if wrong(args):
            raise UsageError(text)
    if args.kudo_image_pull_policy not in PULL_POLICIES:
        allowed = "'Always', 'IfNotPresent' or 'Never'"
        policy = args.kudo_image_pull_policy
        raise UsageError(f"unknown image pull policy {policy}, must be one of {allowed}")
    if args.tenancy not in {"", STRICT, COMPAT}:
        raise UsageError(f"unknown tenancy {args.tenancy}, must be one of 'strict' or 'compat'")
    options = Options(
        namespace=args.namespace or DEFAULT_NAMESPACE,
        service_account=args.service_account,
        images=_images(args),
        pull_policy=args.kudo_image_pull_policy,
        built_in=args.unsafe_self_signed_webhook_ca,
        wait_seconds=args.wait_timeout or WAIT_SECONDS,
        tenancy=args.tenancy or COMPAT,
    )
    for what, name in (
        ("namespace", options.namespace),
        ("service account", options.service_account),
    ):
        fault = name_fault(what, name)
        if fault:
            raise UsageError(fault)
    return options


def _given(*names: str) -> Callable[[Args], bool]:
    """Return a test whether all of these flags are given."""
    return lambda args: all(getattr(args, name) for name in names)


def _exclusive(name: str, *others: str) -> Iterator[tuple[Callable[[Args], bool], str]]:
    flag = name.replace("_", "-")
    for other in others:
        text = f"'--{flag}' and '--{other.replace('_', '-')}' can not be used at the same time"
        yield _given(name, other), text


_COMBINATIONS: Final = (
    (_given("kudo_image", "version"), "specify either 'kudo-image' or 'version', not both"),
    (
        lambda args: (
            args.client_only
            and any((args.kudo_image, args.version, args.output, args.crd_only, args.wait))
        ),
        "you cannot use image, version, output, crd-only and wait flags with client-only option",
    ),
    (_given("crd_only", "wait"), "wait is not allowed with crd-only"),
    (
        lambda args: args.wait_timeout and not args.wait,
        "wait-timeout is only useful when using the flag '--wait'",
    ),
    *_exclusive("upgrade", "verify"),
    *_exclusive("dry_run", "verify"),
    (
        _given("upgrade", "crd_only"),
        (
            "'--upgrade' and '--crd-only' can not be used at the same time: you can not upgrade "
            "*only* crds"
        ),
    ),
    *_exclusive("take_over", "verify", "crd_only"),
    *_exclusive("uninstall", "verify", "upgrade", "crd_only", "take_over", "wait", "client_only"),
    (
        lambda args: (args.yes or args.delete_crds) and not args.uninstall,
        "'--yes' and '--delete-crds' are only useful when using the flag '--uninstall'",
    ),
    (
        lambda args: args.tenancy and (args.uninstall or args.crd_only or args.client_only),
        "'--tenancy' is only useful when services are installed or checked",
    ),
    (
        _given("uninstall", "output"),
        "'--uninstall' prints no manifests: leave out '--output'",
    ),
)


def original_image(args: Args) -> str:
    """Return the value of `--kudo-image` that names one image, as with KUDO 0.19, or nothing."""
    return next((given for given in reversed(args.kudo_image) if "=" not in given), "")


def meaning_of(image: str, options: Options) -> str:
    """Return what the one image of KUDO 0.19 means, whose webhook and manager were one process."""
    images = " and ".join(options.images[service] for service in SERVICES)
    return (
        f"--kudo-image {image} names one image, as with KUDO 0.19. KUDO has two now: from the same "
        f"registry, {images} are used. To choose others, {_CHOICE}"
    )


def _images(args: Args) -> dict[str, str]:
    tag = args.version.removeprefix("v") or __version__
    if not _TAG.fullmatch(tag):
        raise UsageError(f'"{args.version}" is not a valid tag of an image')
    if args.image_registry and not _REGISTRY.fullmatch(args.image_registry):
        raise UsageError(f'"{args.image_registry}" is not a valid prefix of an image')
    registry = args.image_registry
    if not registry and (image := original_image(args)):
        if not _IMAGE.fullmatch(image):
            raise UsageError(f'"{image}" is not a valid reference of an image')
        # The two images are where the one of KUDO 0.19 is: in a mirror, most likely.
        registry = image.rpartition("/")[0]
    prefix = f"{registry.rstrip('/')}/" if registry else ""
    images = {service: f"{prefix}kudo-{service}:{tag}" for service in SERVICES}
    for given in args.kudo_image:
        service, equals, reference = given.partition("=")
        if not equals:
            continue
        if service not in SERVICES:
            raise UsageError(_TWO_IMAGES)
        if not _IMAGE.fullmatch(reference):
            raise UsageError(f'"{reference}" is not a valid reference of an image')
        images[service] = reference
    return images


async def settled(client: Client, options: Options, given: str) -> Options:
    """Return the options with the mode of what is installed, unless the flag gives another.

    Args:
        client: The connection.
        options: Of the flags.
        given: The value of the flag `--tenancy`, or nothing.
    """
    tenancy = given
    if not tenancy:
        deployment = await find(client, DEPLOYMENTS, RECONCILER, options.namespace)
        tenancy = (mode_of(deployment) if deployment else "") or COMPAT
    version = await minor_version(client)
    # A server that does not name its version is taken to be new.
    constrained = not version or version >= _CONSTRAINED_SINCE
    return replace(options, tenancy=tenancy, constrained=constrained)


def notice(tenancy: str) -> str:
    """Return what to tell the user about the mode, and what to do next."""
    return _NOTICES[tenancy]
