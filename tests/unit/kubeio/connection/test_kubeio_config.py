"""Kubeconfig files in all their forms, merged and broken, and service accounts."""

import base64
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.auth import PluginAuth, StaticAuth, TokenFileAuth
from kubeio.connection.config import ClusterConfig, in_cluster_config, load_config
from kubeio.errors import ConfigError, ConnectionLost
from kubeio.types import JsonObject
from tests.unit.kubeio.connection.pki import authority, issued

Write = Callable[..., Path]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def kubeconfig(
    *, cluster: JsonObject | None = None, user: JsonObject | None = None, **context: str
) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://k8s.example:6443"}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", **context}}],
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(content: Any, name: str = "config") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return make


def load(path: Path | str | None, context: str | None = None, **environ: str) -> ClusterConfig:
    return load_config(path, context=context, environ=environ)


async def header(config: ClusterConfig) -> str | None:
    return await config.auth.header()


def test_the_smallest_kubeconfig_is_enough(write: Write) -> None:
    config = load(write(kubeconfig()))
    assert config.server == "https://k8s.example:6443"
    assert config.namespace == "default"
    assert config.proxy is None
    assert config.ssl is not None
    assert config.ssl.verify_mode is ssl.CERT_REQUIRED


def test_json_is_a_kubeconfig_too(write: Write) -> None:
    assert load(write(orjson.dumps(kubeconfig()).decode())).server == "https://k8s.example:6443"


def test_server_namespace_and_tls_name_are_read(write: Write) -> None:
    cluster = {"server": "https://10.0.0.1/k8s/c-1/", "tls-server-name": "kubernetes"}
    config = load(write(kubeconfig(cluster=cluster, namespace="prod")))
    assert config.server == "https://10.0.0.1/k8s/c-1"
    assert (config.namespace, config.tls_server_name) == ("prod", "kubernetes")


def test_a_plain_http_server_has_no_tls(write: Write) -> None:
    config = load(write(kubeconfig(cluster={"server": "http://127.0.0.1:8080"})))
    assert config.ssl is None


@pytest.mark.parametrize(
    ("more", "scheme"), [({}, "http"), ({"insecure-skip-tls-verify": True}, "https")]
)
def test_a_server_without_scheme_gets_one(write: Write, more: JsonObject, scheme: str) -> None:
    config = load(write(kubeconfig(cluster={"server": "k8s.example:6443", **more})))
    assert config.server == f"{scheme}://k8s.example:6443"


def test_verification_can_be_switched_off(write: Write) -> None:
    cluster = {"server": "https://k8s", "insecure-skip-tls-verify": True}
    config = load(write(kubeconfig(cluster=cluster)))
    assert config.ssl is not None
    assert config.ssl.verify_mode is ssl.CERT_NONE


async def test_tokens_are_read_as_text(write: Write) -> None:
    assert await header(load(write(kubeconfig(user={"token": " abc\n"})))) == "Bearer abc"
    path = write("\n".join(["users: [{name: u, user: {token: 0123}}]", *_main_context()]))
    assert await header(load(path)) == "Bearer 0123"


def _main_context() -> list[str]:
    return [
        "clusters: [{name: c, cluster: {server: https://k8s}}]",
        "contexts: [{name: main, context: {cluster: c, user: u}}]",
        "current-context: main",
    ]


async def test_a_token_file_is_found_beside_the_kubeconfig_and_wins(write: Write) -> None:
    write("from file\n", "secrets/token")
    path = write(kubeconfig(user={"tokenFile": "secrets/token", "token": "inline"}))
    assert await header(load(path)) == "Bearer from file"


async def test_basic_auth_is_read(write: Write) -> None:
    path = write(kubeconfig(user={"username": "u", "password": "p:w"}))
    assert await header(load(path)) == "Basic dTpwOnc="


@pytest.mark.parametrize(
    "user", [{"exec": {"command": "x"}}, {"auth-provider": {"name": "oidc", "config": {}}}]
)
def test_plugins_are_left_to_the_plugin_auth(write: Write, user: JsonObject) -> None:
    assert isinstance(load(write(kubeconfig(user=user))).auth, PluginAuth)


def test_without_a_user_there_is_no_credential(write: Write) -> None:
    content = kubeconfig()
    del content["contexts"][0]["context"]["user"], content["users"]
    assert isinstance(load(write(content)).auth, StaticAuth)


def test_impersonation_becomes_headers(write: Write) -> None:
    user = {
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"scopes": ["view"]},
    }
    assert load(write(kubeconfig(user=user))).headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-scopes", "view"),
    )


def test_a_proxy_comes_from_the_cluster_or_the_environment(write: Write) -> None:
    plain = write(kubeconfig())
    assert load(plain, HTTPS_PROXY="http://p:1").proxy == "http://p:1"
    own = {"server": "https://k8s", "proxy-url": "http://own:2"}
    assert load(write(kubeconfig(cluster=own)), HTTPS_PROXY="http://p:1").proxy == "http://own:2"


def test_compression_can_be_switched_off(write: Write) -> None:
    assert load(write(kubeconfig())).compression
    cluster = {"server": "https://k8s", "disable-compression": True}
    assert not load(write(kubeconfig(cluster=cluster))).compression


def test_another_context_can_be_chosen(write: Write) -> None:
    content = kubeconfig()
    content["contexts"].append({"name": "other", "context": {"cluster": "c", "namespace": "o"}})
    assert load(write(content), "other").namespace == "o"


def test_of_several_files_the_first_that_names_something_wins(write: Write) -> None:
    first = {
        "clusters": [{"name": "c", "cluster": {"server": "https://first"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "x"}}],
    }
    second = kubeconfig(cluster={"server": "https://second"})
    second["current-context"] = "x"
    third = kubeconfig()
    paths = [write(first, "a/1"), Path("/nonexistent"), write(second, "b/2"), write(third, "c/3")]
    listed = ":".join(map(str, [*paths, paths[0], ""]))
    config = load(None, KUBECONFIG=listed)
    assert (config.server, config.namespace) == ("https://first", "x")


async def test_relative_paths_count_from_the_file_that_names_them(write: Write) -> None:
    write("here", "b/token")
    first = write({"current-context": "main"}, "a/1")
    second = write(kubeconfig(user={"tokenFile": "token"}), "b/2")
    assert await header(load(None, KUBECONFIG=f"{first}:{second}")) == "Bearer here"


def test_the_home_directory_is_the_default(write: Write, tmp_path: Path) -> None:
    write(kubeconfig(), ".kube/config")
    assert load(None, HOME=str(tmp_path)).server == "https://k8s.example:6443"


def test_an_explicit_path_wins_over_the_environment(write: Write) -> None:
    other = write(kubeconfig(cluster={"server": "https://env"}), "env")
    assert load(write(kubeconfig()), KUBECONFIG=str(other)).server == "https://k8s.example:6443"


class Bad:
    """Kubeconfigs that cannot be used, and what is said about them."""

    def __init__(self, content: Any, field: str, *words: str) -> None:
        self.content, self.field, self.words = content, field, words


def without(key: str) -> JsonObject:
    return {name: value for name, value in kubeconfig().items() if name != key}


BAD = {
    "no yaml": Bad("users: [{token: s3cret", "", "not valid YAML at line"),
    "no mapping": Bad("[]", "", "not a kubeconfig"),
    "other kind": Bad({"kind": "Pod"}, "", "not a kubeconfig"),
    "binary": Bad("\x00s3cret", "", "not valid YAML"),
    "no context": Bad(without("current-context"), "current-context", "choose one of: main"),
    "unknown context": Bad(
        kubeconfig() | {"current-context": "x"}, "current-context", "'x'", "choose one of: main"
    ),
    "no contexts": Bad(without("contexts"), "current-context", "choose one of: none"),
    "unknown cluster": Bad(without("clusters"), "contexts[main].context.cluster", "'c'"),
    "unknown user": Bad(without("users"), "contexts[main].context.user", "'u'"),
    "no cluster": Bad(
        kubeconfig() | {"contexts": [{"name": "main", "context": None}]},
        "contexts[main].context.cluster",
        "the context has no cluster",
    ),
    "no server": Bad(
        kubeconfig(cluster={"proxy-url": "x"}),
        "clusters[c].cluster.server",
        "the server URL is missing",
    ),
    "odd server": Bad(
        kubeconfig(cluster={"server": "ftp://x"}), "clusters[c].cluster.server", "ftp://x"
    ),
    "odd port": Bad(
        kubeconfig(cluster={"server": "https://x:y"}), "clusters[c].cluster.server", "https://x:y"
    ),
    "a list is no text": Bad(
        kubeconfig(cluster={"server": ["x"]}), "clusters[c].cluster.server", "expected text"
    ),
    "a text is no flag": Bad(
        kubeconfig(cluster={"server": "https://x", "insecure-skip-tls-verify": "yes"}),
        "clusters[c].cluster.insecure-skip-tls-verify",
        "true or false",
    ),
    "a section is a list": Bad(kubeconfig() | {"users": {"u": 1}}, "users", "a list"),
    "an entry has a name": Bad(kubeconfig() | {"users": [{}]}, "users[0]", "a name"),
    "a user is a mapping": Bad(
        kubeconfig() | {"users": [{"name": "u", "user": 3}]}, "users[u].user", "a mapping"
    ),
    "ca no base64": Bad(
        kubeconfig(cluster={"server": "https://x", "certificate-authority-data": "s3cret!"}),
        "clusters[c].cluster.certificate-authority-data",
        "base64 -w0",
    ),
    "ca no pem": Bad(
        kubeconfig(cluster={"server": "https://x", "certificate-authority-data": b64(b"x")}),
        "clusters[c].cluster.certificate-authority",
        "unusable certificate",
    ),
    "ca missing": Bad(
        kubeconfig(cluster={"server": "https://x", "certificate-authority": "ca.crt"}),
        "clusters[c].cluster.certificate-authority",
        "no such file",
        "ca.crt",
    ),
    "key without certificate": Bad(
        kubeconfig(user={"client-key-data": b64(b"x")}),
        "users[u].user.client-certificate",
        "set both the client certificate and its key",
    ),
    "certificate without key": Bad(
        kubeconfig(user={"client-certificate-data": b64(b"x")}),
        "users[u].user.client-key",
        "set both the client certificate and its key",
    ),
    "certificate no pem": Bad(
        kubeconfig(
            user={"client-certificate-data": b64(b"s3cret"), "client-key-data": b64(b"s3cret")}
        ),
        "users[u].user.client-certificate",
        "unusable certificate",
    ),
    "token file missing": Bad(
        kubeconfig(user={"tokenFile": "t"}), "users[u].user.tokenFile", "no such file"
    ),
    "odd proxy": Bad(
        kubeconfig(cluster={"server": "https://x", "proxy-url": "socks5://p"}),
        "clusters[c].cluster.proxy-url",
        "only http",
    ),
    "groups are a list": Bad(
        kubeconfig(user={"as-groups": "x"}), "users[u].user.as-groups", "a list"
    ),
    "extra is a mapping": Bad(
        kubeconfig(user={"as-user-extra": "x"}), "users[u].user.as-user-extra", "a mapping"
    ),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_with_file_and_field(write: Write, bad: Bad) -> None:
    path = write(bad.content)
    with pytest.raises(ConfigError) as problem:
        load(path)
    text = str(problem.value)
    assert problem.value.field == bad.field
    assert text.startswith(str(path))
    assert all(word in text for word in bad.words), text
    assert "s3cret" not in f"{text} {problem.value.__cause__!r}"


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nope: no such file"):
        load(tmp_path / "nope")


def test_nothing_at_all_says_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.kube/config does not exist; set KUBECONFIG"):
        load(None, HOME=str(tmp_path))
    with pytest.raises(ConfigError, match="/a:/b does not exist"):
        load(None, KUBECONFIG="/a:/b")


def test_an_odd_proxy_of_the_environment_is_named(write: Write) -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY"):
        load(write(kubeconfig()), HTTPS_PROXY="socks5://p")


def test_no_secret_is_in_the_repr(write: Write) -> None:
    pair = issued("jane")
    user = {
        "token": "s3cret",
        "client-certificate-data": b64(pair.cert),
        "client-key-data": b64(pair.key),
    }
    cluster = {"server": "https://x", "proxy-url": "http://me:s3cret@p"}
    config = load(write(kubeconfig(cluster=cluster, user=user)))
    assert "s3cret" not in repr(config)
    assert "Bearer <redacted>" in repr(config)


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("t0\n")
    (tmp_path / "namespace").write_text("kudo-system\n")
    (tmp_path / "ca.crt").write_bytes(authority().cert)
    return tmp_path


IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


async def test_a_pod_uses_its_service_account(account: Path) -> None:
    config = in_cluster_config(directory=account, environ=IN_POD)
    assert (config.server, config.namespace) == ("https://10.96.0.1:443", "kudo-system")
    assert isinstance(config.auth, TokenFileAuth)
    assert await header(config) == "Bearer t0"
    assert not config.compression


def test_an_ipv6_service_address_is_bracketed(account: Path) -> None:
    config = in_cluster_config(directory=account, environ={"KUBERNETES_SERVICE_HOST": "fd00::1"})
    assert config.server == "https://[fd00::1]:443"


def test_an_incomplete_service_account_is_named(account: Path) -> None:
    (account / "ca.crt").write_text("junk")
    with pytest.raises(ConfigError, match=r"ca\.crt: unusable certificate"):
        in_cluster_config(directory=account, environ=IN_POD)
    (account / "token").unlink()
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        in_cluster_config(directory=account, environ=IN_POD)
    with pytest.raises(ConfigError, match="not in a cluster"):
        in_cluster_config(directory=account, environ={})


def test_in_a_pod_without_kubeconfig_the_service_account_is_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="serviceaccount/token"):
        load(None, HOME=str(tmp_path), **IN_POD)


@pytest.mark.parametrize("inline", [True, False])
async def test_client_certificates_open_a_connection(
    write: Write, tmp_path: Path, inline: bool
) -> None:
    """Against a server that demands one, with the material inline and in files."""
    serving, jane, ca = issued("localhost"), issued("jane"), authority()
    for name, data in {"s.crt": serving.cert, "s.key": serving.key, "ca.crt": ca.cert}.items():
        (tmp_path / name).write_bytes(data)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "ca.crt")
    context.load_cert_chain(tmp_path / "s.crt", tmp_path / "s.key")
    context.verify_mode = ssl.CERT_REQUIRED

    async def whoami(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert")
        return web.json_response(dict(pair for group in peer["subject"] for pair in group))

    app = web.Application()
    app.router.add_get("/version", whoami)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    cluster: JsonObject = {"server": f"https://127.0.0.1:{runner.addresses[0][1]}"}
    if inline:
        cluster["certificate-authority-data"] = b64(ca.cert)
        user = {"client-certificate-data": b64(jane.cert), "client-key-data": b64(jane.key)}
    else:
        cluster["certificate-authority"] = "ca.crt"
        (tmp_path / "j.crt").write_bytes(jane.cert)
        (tmp_path / "j.key").write_bytes(jane.key)
        user = {"client-certificate": "j.crt", "client-key": "j.key"}
    try:
        async with Client(load(write(kubeconfig(cluster=cluster, user=user)))) as client:
            assert await client.server_version() == {"commonName": "jane"}
        del cluster["certificate-authority-data" if inline else "certificate-authority"]
        async with Client(load(write(kubeconfig(cluster=cluster, user=user)))) as client:
            with pytest.raises(ConnectionLost, match="certificate verify failed") as lost:
                await client.server_version()
            assert not lost.value.maybe_sent
    finally:
        await runner.cleanup()
