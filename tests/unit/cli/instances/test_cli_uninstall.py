"""`uninstall` against an API server: what it sends, prints and returns."""

from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi


def test_uninstall_deletes_exactly_the_instance_that_was_seen(
    kudo: Cli, installed: FakeApi
) -> None:
    uid = installed.objects["instances", "tea"]["metadata"]["uid"]
    ran = kudo("uninstall", "--instance", "tea")
    assert (ran.code, ran.out) == (0, "instance.kudo.dev/v1beta1/tea deleted\n\n")
    method, path, body = installed.requests[-1]
    assert (method, path) == ("DELETE", "instances/tea")
    assert body is not None
    assert body["preconditions"] == {"uid": uid}
    assert body["propagationPolicy"] == "Background"
    assert installed.names("operatorversions") == [VERSION]


def test_a_deletion_that_takes_too_long_goes_on(kudo: Cli, installed: FakeApi) -> None:
    tea = installed.objects["instances", "tea"]
    tea["metadata"]["finalizers"] = ["example.org/held"]
    ran = kudo("uninstall", "--instance", "tea", "--wait", "--wait-time", "1")
    assert (ran.code, ran.out) == (7, "")
    assert "finalizers that hold it: example.org/held" in ran.err
    assert "The deletion goes on in the cluster." in ran.err
