"""What is about the cluster and the program itself: `init`, `rbac`, `diagnostics`, connections."""

from tests.unit.record.commands.cases import Case, Cases, lines_of
from tests.unit.record.commands.console import PIPE
from tests.unit.record.commands.site import Site

_ONCE = (PIPE,)
_BUILT_IN = "init --unsafe-self-signed-webhook-ca"


def _once(line: str, most: int = 60) -> Case:
    return Case(line, most=most, modes=_ONCE)


def _tells(line: str) -> Case:
    return Case(line, most=30, modes=_ONCE)


def _unauthorized(site: Site) -> None:
    site.api.refusals["GET", "discovery"] = (401, "Unauthorized")


def _summary(site: Site) -> str:
    top = site.folder / "diag"
    names = sorted(str(one.relative_to(top)) for one in top.rglob("*") if one.is_file())
    return "".join(f"{name}\n" for name in names) + lines_of("diag/SUMMARY.txt")(site)


RBAC: Cases = (
    "rbac",
    "rbac --instance idle",
    "rbac ./teapot -p TEA=mint",
    _once("rbac ./examples/lifecycle/v2", most=70),
    _once("rbac ./teapot -p TEA=mint -o yaml"),
    _once("rbac --namespace ns"),
    "rbac --instance idle --check",
    _once("rbac --check -A"),
    _once("rbac --check -o json"),
    _once("rbac --instance nobody"),
    _once("rbac ./absent"),
)
DIAGNOSTICS: Cases = (
    "diagnostics collect",
    Case("diagnostics collect --instance failed", files=True, after=_summary, modes=_ONCE),
    Case("diagnostics collect --instance idle -O idle.tgz", files=True, modes=_ONCE),
    _once("diagnostics collect --instance nobody"),
    _once("diagnostics collect --instance idle -O teapot"),
)
INIT: Cases = (
    Case(_BUILT_IN, about="KUDO is installed as far as its CRDs", modes=_ONCE),
    _once("init --verify"),
    _once("init --tenancy loose"),
    _once("init --wait-timeout soon"),
    _once("init extra"),
)
INIT_WITHOUT: Cases = (
    _once(_BUILT_IN),
    _once(f"{_BUILT_IN} --tenancy strict"),
    _once("init"),
    _once("init --crd-only"),
    _once("init --dry-run"),
    _tells("init --dry-run -o yaml"),
    _once("init --verify"),
    _once("init --upgrade"),
    _once("init --uninstall"),
    _once("init --uninstall --yes"),
    _once("get instances"),
    _once("install ./teapot -p TEA=mint"),
    _once("get instances --validate-install=false"),
)
GENERAL: Cases = (
    "",
    "--help",
    "help",
    "help get",
    "--version",
    "brew",
    "instal",
    "plan",
    "plan brew",
    "package",
    "package add",
    "package list",
    "repo",
    "diagnostics",
    _once("get instances --colour"),
    _once("get instances -n"),
    _once("-n ns get instances --headers=maybe"),
    _once("get instances -n Upper"),
    _once("get instances --request-timeout soon"),
    _once("get instances --as-group admins"),
    _once("get instances --as somebody"),
    _once("get instances --context absent"),
    _once("get instances --kubeconfig absent"),
    _once("get instances --kubeconfig values.yaml"),
    Case("get instances --context away", about="nobody listens there"),
    Case("get instances", before=_unauthorized, modes=_ONCE, about="credentials are refused"),
    _once("get instances -v 6"),
)
VERSION: Cases = ("version", _once("version -o json"), _once("version -o yaml"),
                  _once("version -o purple"), _once("version extra"))  # fmt: skip
COMPLETION: Cases = (
    "completion",
    *(_tells(f"completion {shell}") for shell in ("bash", "zsh", "fish", "powershell", "kubectl")),
    _once("completion sh"),
    _once("__complete ''"),
    _once("__complete get inst"),
    _once("__complete plan status --instance ''"),
    _once("__complete plan trigger --instance idle --name ''"),
    _once("__complete update --instance idle -p ''"),
    _once("__completeNoDesc package ''"),
)
COMMANDS: dict[str, Cases] = {
    "kudo": GENERAL,
    "init": INIT,
    "rbac": RBAC,
    "diagnostics collect": DIAGNOSTICS,
    "completion": COMPLETION,
    "version": VERSION,
}
WITHOUT_KUDO: dict[str, Cases] = {"init without KUDO": INIT_WITHOUT}
