"""`uninstall` against an API server: what it sends, prints and returns."""

from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi, status


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


def test_uninstall_of_a_missing_instance(kudo: Cli, api: FakeApi) -> None:
    ran = kudo("uninstall", "--instance", "tea")
    assert ran.err == ("Error: instance tea in namespace kitchen does not exist in the cluster\n")


def test_uninstall_waits_until_the_instance_is_gone(kudo: Cli, installed: FakeApi) -> None:
    tea = installed.objects["instances", "tea"]
    tea["metadata"]["finalizers"] = ["kudo.dev.instance.cleanup"]
    installed.script = [status("IN_PROGRESS", plan="cleanup"), lambda _: None]
    ran = kudo("uninstall", "--instance", "tea", "--wait")
    assert (ran.code, ran.out) == (0, "instance.kudo.dev/v1beta1/tea deleted\n\n")
    assert "cleanup.main.app IN_PROGRESS" in ran.err


def test_uninstall_says_deleted_only_when_it_is(kudo: Cli, installed: FakeApi) -> None:
    tea = installed.objects["instances", "tea"]
    tea["metadata"]["finalizers"] = ["kudo.dev.instance.cleanup"]
    ran = kudo("uninstall", "--instance", "tea")
    assert (ran.code, ran.out) == (
        0,
        "instance.kudo.dev/v1beta1/tea is being deleted; plan cleanup runs first\n\n",
    )
    assert "kubectl kudo uninstall --instance tea -n kitchen --wait" in ran.err
    assert "deletionTimestamp" in installed.objects["instances", "tea"]["metadata"]


def test_a_deletion_that_takes_too_long_goes_on(kudo: Cli, installed: FakeApi) -> None:
    tea = installed.objects["instances", "tea"]
    tea["metadata"]["finalizers"] = ["example.org/held"]
    ran = kudo("uninstall", "--instance", "tea", "--wait", "--wait-time", "1")
    assert (ran.code, ran.out) == (7, "")
    assert "finalizers that hold it: example.org/held" in ran.err
    assert "The deletion goes on in the cluster." in ran.err
