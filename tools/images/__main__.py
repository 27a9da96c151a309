"""`python -m tools.images [--into DIRECTORY] [--base IMAGE] [TARGET ...]`: build the images.

Writes one archive for each image, which `ctr images import` and `docker load` read, and prints how
large it is and how fast it starts. Exit codes: 0 all built, 1 something failed.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kudo_cluster.progress import Progress, default
from tools.images import base, commands, galera, pip_settings, version
from tools.images.archive import measure
from tools.images.buildah import Buildah, cache_directory
from tools.images.commands import DeliveryError

TARGETS = ("webhook", "reconciler", "cli")
FURTHER = (galera.TARGET,)
"""What is built only if it is named."""


def build(targets: Sequence[str], directory: Path, given_base: str | None, say: Progress) -> None:
    """Build images and write them to a directory, one archive each.

    Args:
        targets: stages of the Dockerfile.
        directory: receives kudo-TARGET.tar, and a log beside it.
        given_base: the image with Python to build on; None for the stand-in.
        say: receives a line for each step.

    Raises:
        DeliveryError: something is missing or failed.
    """
    commands.check()
    directory.mkdir(parents=True, exist_ok=True)
    buildah = Buildah(cache_directory())
    if given_base is None:
        say("the base: a minimal Debian with Python 3.11 (the first time takes a minute)")
        given_base = base.obtain(buildah)
    for target in targets:
        began = time.monotonic()
        say(f"building kudo-{target}")
        if target == galera.TARGET:
            galera.build(buildah, directory, given_base)
        else:
            _build(buildah, target, directory, given_base)
        say(f"built {directory / f'kudo-{target}.tar'} in {time.monotonic() - began:.0f} s")


def _build(buildah: Buildah, target: str, directory: Path, given_base: str) -> None:
    what, pip = version.current(), pip_settings.of_this_machine()
    tag = f"kudo-{target}:{what.number}"
    with tempfile.TemporaryDirectory(prefix="kudo-secrets-") as scratch:
        configuration = Path(scratch, "pip.conf")
        configuration.write_text(pip.configuration(), encoding="utf-8")
        secrets = {"pip-conf": configuration}
        if pip.bundle is not None:
            secrets[Path(pip_settings.BUNDLE).name] = pip.bundle
        buildah.build(
            version.ROOT,
            target=target,
            tag=tag,
            arguments={
                "PYTHON_IMAGE": given_base,
                "VERSION": what.number,
                "REVISION": what.revision,
            },
            labels={version.REVISION: what.revision},
            secrets=secrets,
            volumes=pip.directories,
            timestamp=what.timestamp,
            log=directory / f"kudo-{target}.log",
        )
    buildah.save(tag, directory / f"kudo-{target}.tar")


def main() -> None:
    known = (*TARGETS, *FURTHER)
    parser = argparse.ArgumentParser(prog="python -m tools.images", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(known)}")
    parser.add_argument("--into", type=Path, default=Path(".kudo/images"), metavar="DIRECTORY")
    parser.add_argument("--base", metavar="IMAGE", help="image with Python 3.11 or newer")
    options = parser.parse_args()
    targets = options.targets or TARGETS
    if unknown := set(targets) - set(known):
        parser.error(f"no image {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    try:
        build(targets, options.into, options.base, default())
        ours = [target for target in targets if target in TARGETS]
        figures = [measure(options.into / f"kudo-{target}.tar") for target in ours]
    except DeliveryError as error:
        sys.exit(f"error: {error}")
    print(*figures, sep="\n")


if __name__ == "__main__":
    main()
