"""Certificates in files without a known authority: they are not served, and the reason is told."""

import base64
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from kubeio.client import Client
from kudo_webhook.certificates.files import Files
from kudo_webhook.certificates.served import Served
from tests.unit.kubeio.fake_api import fake_api
from tests.unit.webhook.harness import running, write_pair
from tests.unit.webhook.test_webhook_lifecycle import unready


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


async def test_it_is_not_ready_while_the_authority_is_not_known(tmp_path: Path) -> None:
    write_pair(tmp_path)
    ours = base64.b64encode((tmp_path / "tls.crt").read_bytes()).decode()
    found = {
        "nothing": await problem(tmp_path),
        "public roots": await problem(tmp_path, public_roots=True),
        "the file of the webhooks": await problem(tmp_path, caBundle=ours),
    }
    missing_file = f"no certificate is loaded: {tmp_path}/ca.crt is missing"
    assert found.pop("nothing").startswith(missing_file)
    assert found == {"public roots": "", "the file of the webhooks": ""}


async def problem(folder: Path, *, public_roots: bool = False, **trusted: str) -> str:
    """Return why a webhook that registers itself serves no certificate."""
    client: dict[str, object] = {"service": {"name": "kudo-webhook"}, **trusted}
    hooks = [{"name": "m", "clientConfig": client}]
    webhooks = folder / "webhooks.json"
    webhooks.write_bytes(orjson.dumps({"mutating": hooks, "validating": hooks}))
    options: dict[str, Any] = {
        "register": webhooks,
        "tls_ca": folder / "ca.crt",
        "public_roots": public_roots,
    }
    async with (
        fake_api() as api,
        Client(api.config) as to_api,
        running(folder, client=to_api, **options) as webhook,
    ):
        return (await unready(webhook)).get("certificate", "")
