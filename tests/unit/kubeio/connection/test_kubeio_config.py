"""Kubeconfig files in all their forms, merged and broken, and service accounts."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.auth import RenewedAuth, StaticAuth
from kubeio.connection.config import ClusterConfig, load_config, plain_config
from kubeio.connection.context import Context
from kubeio.connection.service import library_config
from kubeio.errors import ConfigError, ConnectionLost
from kubeio.types import JsonObject
from tests.unit.kubeio.connection.kubeconfigs import BAD, READERS, Bad, b64, kubeconfig
from tests.unit.kubeio.connection.pki import authority, issued

Write = Callable[..., Path]


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


def test_a_plugin_is_not_started_before_the_first_request(write: Write) -> None:
    user = {"exec": {"command": "/nonexistent", "apiVersion": "v1"}}
    assert isinstance(load(write(kubeconfig(user=user))).auth, RenewedAuth)


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


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_what_is_wrong_is_said_with_file_and_field(
    write: Write, bad: Bad, reader: str
) -> None:
    path = write(bad.content)
    with pytest.raises(ConfigError) as problem:
        await READERS[reader](path, {})
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


USABLE: dict[str, tuple[JsonObject, dict[str, str]]] = {
    "nothing but a server": (kubeconfig(), {}),
    "plain HTTP": (kubeconfig(cluster={"server": "http://127.0.0.1:8080/"}), {}),
    "no scheme": (kubeconfig(cluster={"server": "k8s:6443"}), {}),
    "no scheme, but a certificate": (
        kubeconfig(
            cluster={
                "server": "k8s:6443",
                "certificate-authority-data": b64(authority().cert),
            }
        ),
        {},
    ),
    "no verification": (
        kubeconfig(cluster={"server": "https://k8s/k8s/c-1/", "insecure-skip-tls-verify": True}),
        {},
    ),
    "a CA in a file, and another name": (
        kubeconfig(
            cluster={
                "server": "https://k8s",
                "certificate-authority": "ca.crt",
                "tls-server-name": "kubernetes",
            }
        ),
        {},
    ),
    "a token": (kubeconfig(user={"token": " abc\n"}, namespace="prod"), {}),
    "a token that looks like a number": (kubeconfig(user={"token": "0123"}), {}),
    "a token file beside a token": (
        kubeconfig(user={"tokenFile": "token", "token": "inline"}),
        {},
    ),
    "basic auth without a password": (kubeconfig(user={"username": "u"}), {}),
    "basic auth": (kubeconfig(user={"username": "u", "password": "01:2"}), {}),
    "a token beside basic auth": (
        kubeconfig(user={"token": "abc", "username": "u", "password": "p"}),
        {},
    ),
    "a token beside a plugin": (
        kubeconfig(user={"token": "abc", "exec": {"command": "/nonexistent"}}),
        {},
    ),
    "a client certificate": (
        kubeconfig(
            user={
                "client-certificate-data": b64(issued("jane").cert),
                "client-key-data": b64(issued("jane").key),
            }
        ),
        {},
    ),
    "impersonation": (
        kubeconfig(
            user={
                "token": "abc",
                "as": "jane",
                "as-uid": "7",
                "as-groups": ["dev", "ops"],
                "as-user-extra": {"scopes": ["view"]},
            }
        ),
        {},
    ),
    "a proxy of its own": (
        kubeconfig(cluster={"server": "https://k8s", "proxy-url": "http://own:2"}),
        {"HTTPS_PROXY": "http://p:1"},
    ),
    "a proxy of the environment": (kubeconfig(), {"HTTPS_PROXY": "http://p:1"}),
    "no proxy": (kubeconfig(), {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "k8s.example"}),
    "no compression": (
        kubeconfig(cluster={"server": "https://k8s", "disable-compression": True}),
        {},
    ),
    "no user": (
        kubeconfig() | {"contexts": [{"name": "main", "context": {"cluster": "c"}}]},
        {},
    ),
}


@pytest.mark.parametrize("usable", USABLE.values(), ids=USABLE)
async def test_both_readers_make_the_same_of_a_kubeconfig(
    write: Write, usable: tuple[JsonObject, dict[str, str]]
) -> None:
    content, environ = usable
    write("from file\n", "token")
    write(authority().cert.decode(), "ca.crt")
    path = write(content)
    light, library = [await reader(path, environ) for reader in READERS.values()]
    assert await seen(light) == await seen(library)


async def test_both_readers_prefer_the_first_of_several_files(write: Write) -> None:
    write("here", "b/token")
    first = write({"current-context": "main"}, "a/1")
    second = write(kubeconfig(user={"tokenFile": "token"}), "b/2")
    third = write(kubeconfig(user={"token": "other"}) | {"current-context": "x"}, "c/3")
    environ = {"KUBECONFIG": f"{first}:{second}:{third}"}
    light, library = [await reader(None, environ) for reader in READERS.values()]
    assert await header(light) == "Bearer here"
    assert await seen(light) == await seen(library)


async def seen(config: ClusterConfig) -> JsonObject:
    """Return what a server could see of a configuration, and whom it would trust."""
    tls = config.ssl
    trust = tls and (tls.verify_mode, tls.check_hostname, tls.verify_flags, tls.get_ca_certs())
    fields = {key: value for key, value in vars(config).items() if key not in ("auth", "tls")}
    return {**fields, "header": await header(config), "trust": trust}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("t0\n")
    (tmp_path / "namespace").write_text("kudo-system\n")
    (tmp_path / "ca.crt").write_bytes(authority().cert)
    return tmp_path


IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.mark.parametrize("host", ["10.96.0.1", "fd00::1"])
async def test_both_readers_use_the_service_account_of_the_pod(account: Path, host: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": host, "HTTPS_PROXY": "http://p:1"}
    context = Context.of_pod(environ, account)
    light = plain_config(context, environ, user_agent="kubeio")
    library = await library_config(context, environ, user_agent="kubeio")
    assert await seen(light) == await seen(library)
    assert light.server == f"https://[{host}]:443" if ":" in host else f"https://{host}:443"
    assert (light.namespace, light.proxy) == ("kudo-system", "http://p:1")
    assert await header(light) == "Bearer t0"
    assert not light.compression


@pytest.mark.parametrize("reader", READERS)
async def test_an_incomplete_service_account_is_named(account: Path, reader: str) -> None:
    async def read() -> None:
        context = Context.of_pod(IN_POD, account)
        if reader == "light":
            await header(plain_config(context, {}, user_agent="kubeio"))
        else:
            await library_config(context, {}, user_agent="kubeio")

    for name, content, words in (
        ("token", "", r"/token: .*empty"),
        ("token", " \n", r"/token: .*empty"),
        ("token", b"\xff", r"/token: "),
        ("ca.crt", "junk", r"/ca\.crt: unusable certificate"),
    ):
        kept = (account / name).read_bytes()
        (account / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ConfigError, match=words):
            await read()
        (account / name).write_bytes(kept)
    ca = (account / "ca.crt").read_bytes()
    (account / "ca.crt").unlink()
    with pytest.raises(ConfigError, match=r"/ca\.crt: no CA of the cluster"):
        await read()
    (account / "ca.crt").write_bytes(ca)
    (account / "token").unlink()
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        await read()
    with pytest.raises(ConfigError, match="not in a cluster"):
        Context.of_pod({}, account)


@pytest.mark.parametrize("reader", READERS)
async def test_in_a_pod_without_kubeconfig_the_service_account_is_used(
    tmp_path: Path, reader: str
) -> None:
    with pytest.raises(ConfigError, match="serviceaccount/token"):
        await READERS[reader](None, {"HOME": str(tmp_path), **IN_POD})


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
