"""Files on their way from a pipe pod to those who use them."""

from tests.integration.pipe.pipes import Pipes, decoded, entry_of
from tests.support import build
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS

BINARY = bytes(range(256)) * 8 + b"\r\n\x00"
PREFIX = "i.deploy.phase1.make.pipe"


async def test_files_become_objects_that_templates_find_by_their_keys(pipes: Pipes) -> None:
    page = pipes.file("index.html", BINARY)
    env = pipes.file("env", b"A=1\nB= two \r\n# no\n")
    await pipes.install(
        entry_of(page, "page"),
        entry_of(page, "key_1", "Secret"),
        entry_of(env, "env", env=True),
        entry_of(env, "secretEnv", "Secret", env=True),
        after=build.config_map("after", page="{{ .Pipes.page }}", env="{{ .Pipes.secretEnv }}"),
    )
    await pipes.world.until_complete("i")
    found = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.page")
    assert decoded(found["binaryData"]) == {"index.html": BINARY}
    assert "data" not in found
    env_map = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.env")
    assert env_map["data"] == {"A": "1", "B": " two "}
    secret = await pipes.secret("key1")
    assert decoded(secret["data"]) == {"index.html": BINARY}
    assert secret["type"] == "Opaque"
    assert decoded((await pipes.secret("secretenv"))["data"]) == {"A": b"1", "B": b" two "}
    after = await pipes.world.get(CONFIG_MAPS, "after")
    assert after["data"] == {"page": f"{PREFIX}.page", "env": f"{PREFIX}.secretenv"}


async def test_a_file_of_a_mebibyte_fits_into_either_kind(pipes: Pipes) -> None:
    content = (b"\x00\xff" * 524288)[:1048576]
    path = pipes.file("big", content)
    await pipes.install(entry_of(path, "map"), entry_of(path, "secret", "Secret"))
    await pipes.world.until_complete("i")
    found = await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.map")
    assert decoded(found["binaryData"]) == {"big": content}
    assert decoded((await pipes.secret("secret"))["data"]) == {"big": content}


async def test_names_of_files_are_no_part_of_a_command_line(pipes: Pipes) -> None:
    paths = [pipes.file(f"{name}/file", name.encode()) for name in ("a b", "$(date)", "-n", "'\"")]
    empty = pipes.file("empty", b"")
    entries = [entry_of(path, f"key{number}") for number, path in enumerate([*paths, empty])]
    await pipes.install(*entries)
    await pipes.world.until_complete("i")
    found = [
        decoded((await pipes.world.get(CONFIG_MAPS, f"{PREFIX}.key{number}"))["binaryData"])
        for number in range(5)
    ]
    named = [{"file": name} for name in (b"a b", b"$(date)", b"-n", b"'\"")]
    assert found == [*named, {"empty": b""}]


async def test_secrets_stand_in_no_status_and_no_event(pipes: Pipes) -> None:
    path = pipes.file("env", b"PASSWORD=correct horse\n")
    await pipes.install(entry_of(path, "env", "Secret", env=True))
    instance = await pipes.world.until_complete("i")
    log = pipes.world.installation.reconciler.log.read_text()
    for told in (str(instance), str(await pipes.world.events()), log):
        assert "PASSWORD" not in told
        assert "correct horse" not in told
        assert "Y29ycmVjdCBob3JzZQ" not in told


async def test_pods_restart_when_the_content_that_they_use_has_changed(pipes: Pipes) -> None:
    """The dependency hash of a Deployment covers what a Pipe task has handed on."""
    user = build.deployment("user")
    volume = {"name": "page", "configMap": {"name": "{{ .Pipes.page }}"}}
    user["spec"]["template"]["spec"]["volumes"] = [volume]
    path = pipes.file("page", b"old")
    await pipes.install(entry_of(path, "page"), after=user)
    await pipes.world.until_complete("i")
    before = await dependencies_hash(pipes)
    pipes.file("page", b"new")
    await pipes.world.patch("i", {"planExecution": {"planName": "deploy", "uid": "again"}})
    await pipes.world.until_complete("i")
    assert await dependencies_hash(pipes) != before


async def dependencies_hash(pipes: Pipes) -> str:
    found = await pipes.world.get(DEPLOYMENTS, "user")
    annotations = found["spec"]["template"]["metadata"]["annotations"]
    return str(annotations["kudo.dev/dependencies-hash"])
