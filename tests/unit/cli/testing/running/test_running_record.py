"""The record of a run: what another process reads from its file."""

import os
from pathlib import Path

import pytest

from kubeio.resource import CLUSTER_ROLES, CONFIG_MAPS, NAMESPACES
from kudo_harness.running.cleanup import tell_left
from kudo_harness.running.record import NAME, Record, read_record

KUBECONFIG = Path("/kubeconfig")


def test_what_is_not_deleted_is_read_again(tmp_path: Path) -> None:
    record = Record.start(tmp_path)
    namespace = record.will_create(NAMESPACES, "", "ns", scope="one", kubeconfig=KUBECONFIG)
    record.created(namespace, "ns", "uid-1")
    gone = record.will_create(CONFIG_MAPS, "ns", "a", scope="one", kubeconfig=KUBECONFIG)
    record.gone(gone)
    record.will_create(CONFIG_MAPS, "ns", "", scope="two", kubeconfig=KUBECONFIG)
    group = record.started(os.getpgid(0), scope="")
    left = read_record(tmp_path)
    assert left.record.objects == record.objects
    assert left.record.groups == {group.number: group}
    assert left.process == os.getpid()
    assert left.runs


def test_the_newest_object_comes_first(tmp_path: Path) -> None:
    record = Record.start(tmp_path)
    for name in ("a", "b"):
        record.will_create(CONFIG_MAPS, "ns", name, scope=name, kubeconfig=KUBECONFIG)
    assert [one.name for one in record.objects_of(None)] == ["b", "a"]
    assert [one.name for one in record.objects_of("a")] == ["a"]


def test_a_line_that_was_not_written_whole_is_left_out(tmp_path: Path) -> None:
    record = Record.start(tmp_path)
    record.will_create(CONFIG_MAPS, "ns", "a", scope="", kubeconfig=KUBECONFIG)
    path = tmp_path / NAME
    whole = path.read_text()
    record.will_create(CONFIG_MAPS, "ns", "b", scope="", kubeconfig=KUBECONFIG)
    path.write_text(path.read_text()[: len(whole) + 20])
    assert [one.name for one in read_record(tmp_path).record.objects_of(None)] == ["a"]


@pytest.mark.parametrize("text", ["[]\n", "{}\n", '{"created": 7}\n', "no JSON\n"])
def test_a_file_that_is_no_record_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(ValueError, match=r"record|Expecting"):
        read_record(tmp_path)


def test_a_run_in_the_same_folder_goes_on_with_what_is_left(tmp_path: Path) -> None:
    first = Record.start(tmp_path)
    first.will_create(CONFIG_MAPS, "ns", "a", scope="", kubeconfig=KUBECONFIG)
    second = Record.start(tmp_path)
    made = second.will_create(CONFIG_MAPS, "ns", "b", scope="", kubeconfig=KUBECONFIG)
    assert made.number == 2
    assert len(read_record(tmp_path).record.objects) == 2


def test_commands_that_delete_the_rest_are_told(tmp_path: Path) -> None:
    record = Record.start(tmp_path)
    namespace = record.will_create(NAMESPACES, "", "ns", scope="", kubeconfig=KUBECONFIG)
    record.created(namespace, "ns", "1")
    inside = record.will_create(CONFIG_MAPS, "ns", "a", scope="", kubeconfig=KUBECONFIG)
    record.created(inside, "a", "2")
    role = record.will_create(CLUSTER_ROLES, "", "r", scope="", kubeconfig=KUBECONFIG)
    record.created(role, "r", "3")
    other = record.will_create(CONFIG_MAPS, "other", "b", scope="", kubeconfig=KUBECONFIG)
    said: list[str] = []
    tell_left(record, said.append)
    start = "kubectl --kubeconfig /kubeconfig delete"
    assert said == [
        f"{start} {other}  # the run ended before it was known whether this was created",
        f"{start} clusterroles.rbac.authorization.k8s.io/r",
        f"{start} namespaces/ns",
    ]
