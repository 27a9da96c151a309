"""What the process of a service imports, its workers do not."""

import subprocess
import sys
from pathlib import Path

import kubernetes_asyncio
import orjson
import pytest

from tests.support.pools import running

_HANDLERS = """
import json, sys
import {jobs}

def modules(payload):
    return json.dumps(sorted(sys.modules)).encode()

def prepare():
    {jobs}.prepare()

HANDLERS = {{"modules": modules}}
"""
_HEAVY = {"kubernetes_asyncio", "aiohttp", "kubeio.client", "asyncio"}


@pytest.mark.parametrize("jobs", ["kudo.jobs", "kudo.jobs.review", "kudo.jobs.version"])
async def test_a_worker_imports_no_client_though_its_service_has(tmp_path: Path, jobs: str) -> None:
    assert kubernetes_asyncio.__name__ in sys.modules
    (tmp_path / "seen.py").write_text(_HANDLERS.format(jobs=jobs))
    async with running(handlers="seen", path=tmp_path, settled=False) as pool:
        found = set(orjson.loads(await pool.call("modules", b"", tenant="a")))
    assert jobs in found
    assert found.isdisjoint(_HEAVY)


@pytest.mark.parametrize("service", ["kudo_webhook", "kudo_reconciler"])
def test_a_service_imports_the_client_before_it_starts(service: str) -> None:
    code = f"import sys, {service}.__main__; sys.exit('kubernetes_asyncio' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
