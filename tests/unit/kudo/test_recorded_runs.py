"""Runs as they stand in Instances that were not parsed."""

import pytest

from kudo.api import JsonObject
from kudo.recorded_runs import has_begun

RUN = {"planName": "deploy", "uid": "u"}


@pytest.mark.parametrize(
    ("run", "entry", "begun"),
    [
        (RUN, {"uid": "u", "status": "IN_PROGRESS"}, True),
        (RUN, {"uid": "u", "status": "COMPLETE"}, True),
        (RUN, {"uid": "older", "status": "COMPLETE"}, False),
        (RUN, {}, False),
        ({"planName": "deploy"}, {"status": "NEVER_RUN"}, False),
        ({"planName": "update", "uid": "u"}, {"uid": "u"}, False),
        ({}, {"uid": "u"}, False),
    ],
)
def test_a_run_has_begun_once_its_entry_has_its_uid(
    run: JsonObject, entry: JsonObject, begun: bool
) -> None:
    instance = {"spec": {"planExecution": run}, "status": {"planStatus": {"deploy": entry}}}
    assert has_begun(instance) is begun


@pytest.mark.parametrize(
    "instance", [{}, {"spec": {}}, {"spec": {"planExecution": RUN}, "status": None}]
)
def test_an_instance_without_a_status_has_begun_nothing(instance: JsonObject) -> None:
    assert not has_begun(instance)
