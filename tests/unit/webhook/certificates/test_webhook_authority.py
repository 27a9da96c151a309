"""Certificates in files without a known authority: they are not served, and the reason is told."""

import base64
import logging
from collections.abc import Callable
from pathlib import Path

import aiohttp
import orjson
import pytest

from kudo_webhook.certificates.files import Files
from kudo_webhook.certificates.served import Served
from tests.unit.webhook.harness import write_pair
from tests.unit.webhook.test_webhook_process import KUBECONFIG, ended, line, start


@pytest.fixture
def served() -> Served:
    return Served()


def files(served: Served, folder: Path, *, needed: bool = True, named: bool = True) -> Files:
    authority = folder / "ca.crt" if named else None
    pair = (folder / "tls.crt", folder / "tls.key")
    return Files(served, *pair, authority=authority, authority_needed=needed)


def missing(_: Path) -> None:
    """What cert-manager leaves for an issuer that names no authority."""


def empty(folder: Path) -> None:
    (folder / "ca.crt").write_bytes(b"")


def unreadable(folder: Path) -> None:
    (folder / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")


def authority(folder: Path) -> None:
    (folder / "ca.crt").write_bytes((folder / "tls.crt").read_bytes())


@pytest.mark.parametrize("left", [missing, empty, unreadable])
def test_a_pair_without_its_authority_is_not_served(
    served: Served, tmp_path: Path, left: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    write_pair(tmp_path)
    left(tmp_path)
    source = files(served, tmp_path)

    assert not source.refresh()
    assert not source.refresh()

    assert not served.loaded
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    for text in (f"{tmp_path}/ca.crt is missing or holds no certificate", "tls.publicRoots"):
        assert text in served.problem
    assert vars(record)["error"] == served.problem


def test_the_flag_is_named_where_no_file_is(served: Served, tmp_path: Path) -> None:
    write_pair(tmp_path)

    files(served, tmp_path, named=False).refresh()

    assert served.problem.startswith("--tls-ca is missing")


def test_it_is_served_once_the_authority_is_there(served: Served, tmp_path: Path) -> None:
    write_pair(tmp_path)
    source = files(served, tmp_path)
    source.refresh()
    authority(tmp_path)

    assert source.refresh()

    assert served.loaded
    assert served.problem == ""
    assert served.issuer == (tmp_path / "ca.crt").read_bytes()


def test_the_former_pair_is_served_while_the_next_has_no_authority(
    served: Served, tmp_path: Path
) -> None:
    write_pair(tmp_path, days=30)
    authority(tmp_path)
    source = files(served, tmp_path)
    source.refresh()
    before, issuer = served.not_after, served.issuer
    write_pair(tmp_path, days=60)
    (tmp_path / "ca.crt").unlink()

    assert not source.refresh()

    assert served.loaded
    assert (served.not_after, served.issuer) == (before, issuer)
    assert "ca.crt" in served.problem


@pytest.mark.parametrize("left", [missing, empty, unreadable])
def test_where_somebody_else_names_the_authority_the_pair_is_served(
    served: Served, tmp_path: Path, left: Callable[[Path], None]
) -> None:
    write_pair(tmp_path)
    left(tmp_path)

    assert files(served, tmp_path, needed=False).refresh()

    assert served.issuer == b""


@pytest.mark.parametrize("known_by", ["nothing", "public roots", "the file of the webhooks"])
async def test_the_process_is_not_ready_while_the_authority_is_not_known(
    tmp_path: Path, known_by: str
) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    write_pair(tmp_path)
    client: dict[str, object] = {"service": {"name": "kudo-webhook"}}
    if known_by == "the file of the webhooks":
        client["caBundle"] = base64.b64encode((tmp_path / "tls.crt").read_bytes()).decode()
    hooks = [{"name": "m", "clientConfig": client}]
    webhooks = tmp_path / "webhooks.json"
    webhooks.write_bytes(orjson.dumps({"mutating": hooks, "validating": hooks}))
    process = await start(
        tmp_path,
        KUBECONFIG=str(tmp_path / "config"),
        REGISTER=str(webhooks),
        TLS_CA=str(tmp_path / "ca.crt"),
        PUBLIC_ROOTS=str(known_by == "public roots").lower(),
    )
    ports = await line(process, "listening")

    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{ports['probe_port']}/readyz") as answer,
    ):
        failing = (await answer.json())["failing"]
    process.terminate()
    assert await ended(process) == 0

    reason = failing.pop("certificate", "")
    # Worker processes may still be on their way.
    assert set(failing) - {"workers"} == {"operatorversions"}
    if known_by == "nothing":
        assert reason.startswith(f"no certificate is loaded: {tmp_path}/ca.crt is missing")
    else:
        assert reason == ""
