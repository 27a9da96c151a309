"""What `package new` writes can be tested at once."""

import sys
from pathlib import Path

import pytest

from tests.integration.harness.whole_suites import kudo_test
from tests.support.cluster.commands import run


@pytest.mark.long
async def test_the_first_case_of_a_new_package_passes(tmp_path: Path) -> None:
    """Uninstalling ends within 30 seconds: the garbage collector knows Instances from the start."""
    plugin = Path(sys.executable).with_name("kubectl-kudo")
    new = await run([str(plugin), "package", "new", "web", "--folder", str(tmp_path / "web")])
    assert new.code == 0, new.output

    flags = ("--start-control-plane", "--start-kudo", "--attach-control-plane-output")
    done = await kudo_test(tmp_path, "./web", *flags)

    assert done.code == 0, done.output
    assert "The case passed" in done.stdout
    for program in ("etcd", "kube-apiserver", "reconciler"):
        assert f"\n{program} | " in done.stderr
