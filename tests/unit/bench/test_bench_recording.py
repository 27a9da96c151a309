"""Templates of a recorded run: filled with the facts of another Instance."""

from typing import Any

from tests.bench.floor.recording import Exchange, Facts, facts_before, facts_of, templates, told

Json = dict[str, Any]
STATUS = "/apis/kudo.dev/v1beta1/namespaces/recording/instances/recorded/status"
EVENTS = "/api/v1/namespaces/recording/events"


def instance(name: str, namespace: str, uid: str, version: str, plan: str) -> Json:
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": version},
        "spec": {"planExecution": {"planName": "deploy", "uid": plan}},
    }


RECORDED = instance("recorded", "recording", "uid-of-recorded", "100", "plan-of-recorded")
OTHER = instance("another", "elsewhere", "uid-of-another", "7000", "plan-of-another")


def exchange(method: str, path: str, body: Any, answer: Any = None, **fields: Any) -> Exchange:
    given = {"query": {}, "content_type": "application/json", "status": 200, **fields}
    return Exchange(method=method, path=path, body=body, answer=answer or {}, **given)


def sent(exchanges: list[Exchange], *answers: Json) -> list[tuple[str, Any]]:
    """Return path and body of each write for the other Instance."""
    facts, found = facts_of(OTHER), []
    writes = templates(RECORDED, exchanges).writes
    for number, write in enumerate(writes):
        found.append(write.request(facts))
        write.learn(answers[number] if number < len(answers) else {}, facts)
    return found


def test_names_and_uids_are_replaced_in_paths_and_within_texts_and_keys() -> None:
    body = {
        "metadata": {"name": "recorded.plan-of-recorded.started", "namespace": "recording"},
        "owners": [{"uid": "uid-of-recorded", "kind": "Instance"}],
        "annotations": {"recorded": '{"namespace":"recording"}'},
        "count": 1,
    }
    [(path, filled)] = sent([exchange("POST", EVENTS, body)])
    assert path == "/api/v1/namespaces/elsewhere/events"
    assert filled == {
        "metadata": {"name": "another.plan-of-another.started", "namespace": "elsewhere"},
        "owners": [{"uid": "uid-of-another", "kind": "Instance"}],
        "annotations": {"another": '{"namespace":"elsewhere"}'},
        "count": 1,
    }


def test_a_resource_version_comes_from_the_answer_that_gave_it() -> None:
    first = {"metadata": {"resourceVersion": "100"}}
    second = {"metadata": {"resourceVersion": "105"}}
    found = sent(
        [
            exchange("PUT", STATUS, first, answer=second),
            exchange("PUT", STATUS, second, answer={"metadata": {"resourceVersion": "110"}}),
        ],
        {"metadata": {"resourceVersion": "7003"}},
    )
    assert [body["metadata"]["resourceVersion"] for _, body in found] == ["7000", "7003"]


def test_a_resource_version_that_a_json_patch_tests_is_replaced_and_other_numbers_are_not() -> None:
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "100"},
        {"op": "replace", "path": "/spec/parameters/REPLICAS", "value": "100"},
    ]
    [(_, body)] = sent([exchange("PATCH", STATUS, operations)])
    assert [one["value"] for one in body] == ["7000", "100"]


def test_the_uid_of_an_applied_object_is_that_of_the_answer_to_its_apply() -> None:
    found = sent(
        [
            exchange("PATCH", f"{EVENTS}/x", {}, answer={"metadata": {"uid": "uid-of-map"}}),
            exchange("PUT", STATUS, {"objects": ["uid-of-map"]}),
        ],
        {"metadata": {"uid": "uid-of-another-map"}},
    )
    assert found[1][1] == {"objects": ["uid-of-another-map"]}


def test_reads_dry_runs_and_refused_writes_are_no_writes_of_the_floor() -> None:
    kept = exchange("POST", EVENTS, {"a": 1})
    exchanges = [
        exchange("GET", STATUS, None),
        exchange("POST", EVENTS, {}, query={"dryRun": "All"}),
        exchange("POST", EVENTS, {}, status=409),
        kept,
    ]
    [(path, body)] = sent(exchanges)
    assert (path, body) == ("/api/v1/namespaces/elsewhere/events", {"a": 1})


def test_what_needs_nothing_of_an_answer_keeps_nothing_of_it() -> None:
    [write] = templates(RECORDED, [exchange("POST", EVENTS, {})]).writes
    facts: Facts = {}
    write.learn({"metadata": {"uid": "1", "resourceVersion": "2"}}, facts)
    assert facts == {}


def test_a_body_without_facts_is_sent_as_it_was_recorded() -> None:
    body: Json = {"spec": {"planExecution": {}}}
    [write] = templates(RECORDED, [exchange("PATCH", STATUS, body)]).writes
    assert write.request(facts_of(OTHER))[1] is body


def test_what_a_write_needs_of_an_object_that_stood_before_is_read_before() -> None:
    path = "/api/v1/namespaces/recording/configmaps/recorded"
    stood = {"metadata": {"uid": "uid-of-map", "resourceVersion": "90"}}
    applied = {"metadata": {"name": "recorded", "resourceVersion": "90"}}
    found = templates(
        RECORDED,
        [
            exchange("GET", STATUS, None, answer=RECORDED),
            exchange("GET", path, None, answer=stood),
            exchange("PATCH", path, applied),
        ],
    )
    [read], [write] = found.before, found.writes
    facts = facts_before("elsewhere", "another")
    assert read.request(facts)[0] == "/api/v1/namespaces/elsewhere/configmaps/another"
    read.learn({"metadata": {"uid": "uid", "resourceVersion": "6990"}}, facts)
    metadata = {"name": "another", "resourceVersion": "6990"}
    assert write.request(facts)[1] == {"metadata": metadata}


def test_what_the_reconciler_knew_of_an_object_from_its_cache_is_read_before_as_well() -> None:
    path = "/api/v1/namespaces/recording/configmaps/recorded"
    applied = {"metadata": {"resourceVersion": "90"}}
    after = {"metadata": {"uid": "uid-of-map", "resourceVersion": "120"}}
    found = templates(
        RECORDED,
        [
            exchange("PATCH", path, applied, answer=after),
            exchange("DELETE", path, {"preconditions": after["metadata"]}),
        ],
    )
    [read], [apply, delete] = found.before, found.writes
    assert (read.method, read.kept) == ("GET", frozenset({"resourceVersion"}))
    facts = facts_before("elsewhere", "another")
    read.learn({"metadata": {"resourceVersion": "6990"}}, facts)
    assert apply.request(facts)[1] == {"metadata": {"resourceVersion": "6990"}}
    apply.learn({"metadata": {"uid": "uid", "resourceVersion": "7100"}}, facts)
    expected = {"uid": "uid", "resourceVersion": "7100"}
    assert delete.request(facts)[1] == {"preconditions": expected}


def test_a_created_object_is_not_read_before() -> None:
    path = "/api/v1/namespaces/recording/configmaps/recorded"
    nothing = {"metadata": {"resourceVersion": "1"}}
    found = templates(RECORDED, [exchange("PATCH", path, nothing, status=201)])
    assert found.before == []
    assert found.writes[0].request(facts_of(OTHER))[1] == nothing


def test_requests_are_told_as_the_api_server_counts_them() -> None:
    applied = "application/apply-patch+yaml"
    exchanges = [
        exchange("GET", EVENTS, None),
        exchange("GET", STATUS, None, status=404),
        exchange("PATCH", STATUS, {}, content_type=applied),
        exchange("PATCH", STATUS, {}),
    ]
    assert list(told(exchanges)) == [
        "LIST events",
        "GET instances/status (404)",
        "APPLY instances/status",
        "PATCH instances/status",
    ]
