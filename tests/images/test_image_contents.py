"""What is in the images, read from their archives: nothing of it needs root or a cluster."""

import re
import stat
import tarfile
from pathlib import PurePath

import pytest

from tools.images.archive import Archive
from tools.images.version import current

_TOOLS = re.compile(
    r"(pip[0-9.]*|easy_install.*|wheel|cc|c\+\+|gcc.*|g\+\+.*|clang.*|ld|as|make|cargo|rustc|go)"
)
_PACKAGES = {"pip", "ensurepip", "setuptools", "wheel", "pkg_resources", "hatchling", "shiv"}
_UNCHECKED_HASH = 1
_WRITABLE = {"tmp", "var/tmp", "run/lock"}


def component(archive: Archive) -> str:
    return archive.path.stem.removeprefix("kudo-")


def test_an_image_is_named_after_its_component_and_version(archive: Archive) -> None:
    (name,) = archive.names()
    assert name.rpartition("/")[2] == f"kudo-{component(archive)}:{current().number}"


def test_labels_say_what_it_is_and_from_where(archive: Archive) -> None:
    labels = archive.image()["config"]["Labels"]
    prefix = "org.opencontainers.image."
    ours = {key.removeprefix(prefix): v for key, v in labels.items() if key.startswith(prefix)}
    assert ours.pop("description")
    assert ours == {
        "title": f"kudo-{component(archive)}",
        "revision": current().revision,
        "version": current().number,
        "licenses": "Apache-2.0",
    }


def test_the_user_is_a_number_that_a_restricted_pod_accepts(archive: Archive) -> None:
    assert archive.image()["config"]["User"] == "65532:65532"


def test_neither_history_nor_environment_tells_how_the_build_reached_its_packages(
    archive: Archive,
) -> None:
    image = archive.image()
    told = str(image["history"]) + str(image["config"])
    assert not re.search(r"https?://|index|secrets|PIP_|CERT", told)


def test_no_pip_no_build_backend_and_no_compiler_is_in_an_image(archive: Archive) -> None:
    found = []
    for member in archive.members():
        path = PurePath(member.name)
        if path.parent.name in ("bin", "sbin") and _TOOLS.fullmatch(path.name):
            found.append(member.name)
        if path.parent.name.endswith("-packages") or re.fullmatch(
            r"python3\.\d+", path.parent.name
        ):
            package = re.split(r"[-.]", path.name)[0]
            found += [member.name] if package in _PACKAGES else []
    assert found == []


def test_no_program_lets_a_user_become_another(archive: Archive) -> None:
    found = [
        m.name for m in archive.members() if m.isfile() and m.mode & (stat.S_ISUID | stat.S_ISGID)
    ]
    assert found == []


def test_nothing_belongs_to_the_user_or_can_be_changed_by_it(archive: Archive) -> None:
    def loose(member: tarfile.TarInfo) -> bool:
        mine = 65532 in (member.uid, member.gid)
        return mine or (not member.issym() and bool(member.mode & stat.S_IWOTH))

    assert {m.name.rstrip("/") for m in archive.members() if loose(m)} <= _WRITABLE


def test_nothing_of_the_building_machine_is_left(archive: Archive) -> None:
    names = {member.name for member in archive.members() if member.size}
    assert not names & {"etc/hostname", "etc/resolv.conf", "etc/machine-id", "etc/pip.conf"}
    assert not [
        name for name in names if name.startswith(("src/", "wheels/", "build/", "root/.cache"))
    ]
    assert not [name for name in names if name.startswith("run/secrets")]


def test_all_bytecode_is_there_and_does_not_depend_on_times(archive: Archive) -> None:
    flags = {name: int.from_bytes(data[4:8], "little") for name, data in archive.contents(".pyc")}
    assert {name for name, flag in flags.items() if flag != _UNCHECKED_HASH} == set()
    sources = [
        PurePath(member.name)
        for member in archive.members()
        if member.name.endswith(".py") and re.search(r"/lib/python3\.\d+/", member.name)
    ]
    compiled = {f"{PurePath(n).parent.parent}/{PurePath(n).name.split('.')[0]}" for n in flags}
    lost = [path for path in sources if f"{path.parent}/{path.stem}" not in compiled]
    assert [str(path) for path in lost if "dist-packages" not in path.parts] == []


@pytest.mark.parametrize("never", ["tests", "test", "idlelib", "tkinter"])
def test_no_package_brings_its_tests(archive: Archive, never: str) -> None:
    parts = (PurePath(member.name).parts for member in archive.members())
    # `kubectl_kudo.commands.test` is a command.
    libraries = (path for path in parts if "kubectl_kudo" not in path)
    assert not [path for path in libraries if never in path and "python3" in str(path)]
