"""The programs of the images, confined as a restricted pod confines them; needs root."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.images.conftest import IMAGES
from tools.images import archive as confined
from tools.images.archive import Archive

_PYTHON = "/opt/kudo/bin/python"
_OF_SERVICES = {"serving", "kubeio", "kudo", "gotemplate", "goyaml", "workers", "worker_process"}
_OURS = {
    "webhook": {"kudo_webhook", *_OF_SERVICES},
    "reconciler": {"kudo_reconciler", *_OF_SERVICES},
    "cli": {"kubectl_kudo", "kubeio", "kudo", "gotemplate", "goyaml"},
}
_IMPORT_ALL = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""
_ALL_PACKAGES = """
import pkgutil
print(*sorted(m.name for m in pkgutil.iter_modules() if m.ispkg))
"""


def run(root: Path, archive: Archive, *program: str) -> subprocess.CompletedProcess[str]:
    return confined.run(root, program, confined.environment(archive.image()))


def python(root: Path, archive: Archive, code: str, *arguments: str) -> str:
    done = run(root, archive, _PYTHON, "-W", "error", "-c", code, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def entrypoint(archive: Archive) -> list[str]:
    return list(archive.image()["config"]["Entrypoint"])


def component(archive: Archive) -> str:
    return archive.path.stem.removeprefix("kudo-")


@pytest.fixture(scope="module", autouse=True)
def _as_root() -> None:
    assert os.geteuid() == 0, "these tests need root: sudo make images"


def test_the_program_explains_itself(root: Path, archive: Archive) -> None:
    done = run(root, archive, *entrypoint(archive), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "kudo" in done.stdout


def test_a_wrong_option_is_refused(root: Path, archive: Archive) -> None:
    done = run(root, archive, *entrypoint(archive), "--no-such-option")
    assert done.returncode in (2, 255)
    assert "no-such-option" in done.stderr


def test_everything_that_our_packages_import_is_there(root: Path, archive: Archive) -> None:
    python(root, archive, _IMPORT_ALL, *sorted(_OURS[component(archive)]))


def test_an_image_has_no_package_of_ours_that_it_does_not_need(
    root: Path, archive: Archive
) -> None:
    known = set().union(*_OURS.values(), {"kudo_cluster"})
    there = set(python(root, archive, _ALL_PACKAGES).split())
    assert there & known == _OURS[component(archive)]


def test_only_the_webhook_has_a_web_framework_and_all_have_the_client_of_kubernetes(
    root: Path, archive: Archive
) -> None:
    there = set(python(root, archive, _ALL_PACKAGES).split())
    assert ("fastapi" in there) == (component(archive) == "webhook")
    assert "kubernetes_asyncio" in there


def test_the_installed_packages_have_all_that_they_require(root: Path, archive: Archive) -> None:
    code = """
import importlib.metadata as metadata, re
names = {re.sub("[-_.]+", "-", d.metadata["Name"]).lower() for d in metadata.distributions()}
for d in metadata.distributions():
    for needed in d.requires or ():
        if "extra ==" not in needed and "python_version <" not in needed:
            name = re.sub("[-_.]+", "-", re.match(r"[\\w.-]+", needed)[0]).lower()
            assert name in names or "; " in needed, (d.metadata["Name"], needed)
"""
    python(root, archive, code)


@pytest.mark.parametrize("module", ["pip", "ensurepip", "setuptools"])
def test_nothing_can_be_installed(root: Path, archive: Archive, module: str) -> None:
    for interpreter in (_PYTHON, "python3"):
        done = run(root, archive, interpreter, "-c", f"import {module}")
        assert "ModuleNotFoundError" in done.stderr


def test_it_is_nobody_without_capabilities_who_can_write_nowhere(
    root: Path, archive: Archive
) -> None:
    code = """
import os, pathlib
print(os.getuid(), os.getgid(), os.getgroups())
print(pathlib.Path("/proc/self/status").read_text())
for place in ("/", "/tmp", "/home/kudo", "/opt/kudo"):
    try:
        pathlib.Path(place, "new").touch()
        print("wrote to", place)
    except OSError as error:
        assert error.errno in (13, 30), error
"""
    said = python(root, archive, code)
    assert said.splitlines()[0] in ("65532 65532 []", "65532 65532 [65532]")
    assert set(re.findall(r"Cap(?:Eff|Prm|Inh|Amb):\t(\w+)", said)) == {"0" * 16}
    assert "NoNewPrivs:\t1" in said
    assert "wrote to" not in said


def test_all_modules_are_loaded_from_bytecode(root: Path, archive: Archive) -> None:
    code = """
import sys
import kudo.api.instance, kubeio.client
from pathlib import Path
cached = [m.__cached__ for m in sys.modules.values() if getattr(m, "__cached__", None)]
assert len(cached) > 100
print([path for path in cached if not Path(path).exists()])
"""
    assert python(root, archive, code) == "[]\n"


def test_the_images_are_three() -> None:
    assert len(IMAGES) == len(_OURS)
