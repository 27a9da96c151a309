"""What is said where images cannot be built."""

import pytest

from tools.images.commands import PACKAGES, DeliveryError, check


def everywhere(name: str) -> str | None:
    return f"/usr/bin/{name}"


def test_root_with_all_programs_may_build() -> None:
    check(user=0, find=everywhere)


def test_missing_programs_are_named_with_the_command_that_installs_them() -> None:
    missing = {"buildah", "unshare", "setpriv"}
    with pytest.raises(DeliveryError, match=r"apt-get install .* buildah util-linux$"):
        check(user=0, find=lambda name: None if name in missing else everywhere(name))


def test_others_than_root_are_told_how_to_become_it_and_about_docker() -> None:
    with pytest.raises(DeliveryError, match=r"sudo make images.*docker build --target webhook"):
        check(user=1000, find=everywhere)


def test_programs_are_missed_before_rights() -> None:
    with pytest.raises(DeliveryError, match=" ".join(sorted(set(PACKAGES.values())))):
        check(user=1000, find=lambda _: None)
