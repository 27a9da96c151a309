"""What the API server counted, as deltas by verb and resource."""

from tests.bench.measure.requests import READS, Request, RequestCounts


def line(verb: str, resource: str, count: str, subresource: str = "", code: str = "200") -> str:
    labels = (
        f'code="{code}",component="apiserver",dry_run="",group="",resource="{resource}",'
        f'scope="resource",subresource="{subresource}",verb="{verb}",version="v1"'
    )
    return f"apiserver_request_total{{{labels}}} {count}"


def counts(*lines: str) -> RequestCounts:
    return RequestCounts.parse("\n".join(("# HELP apiserver_request_total text", *lines)))


def test_requests_are_added_up_over_status_codes_and_told_apart_by_subresource() -> None:
    found = counts(
        line("GET", "configmaps", "2"),
        line("GET", "configmaps", "3", code="404"),
        line("PUT", "instances", "1.0", subresource="status"),
        line("PUT", "instances", "7"),
    )
    assert found.counts == {
        Request("GET", "configmaps"): 5,
        Request("PUT", "instances/status"): 1,
        Request("PUT", "instances"): 7,
    }


def test_large_counts_and_other_metrics_are_read_right() -> None:
    other = line("GET", "pods", "9").replace("request_total", "request_terminations_total")
    found = counts(line("POST", "events", "1.234567e+06"), other, line("GET", "", "4"))
    assert found.counts == {Request("POST", "events"): 1234567}


def test_a_delta_leaves_out_what_did_not_grow() -> None:
    before = counts(line("GET", "pods", "5"), line("LIST", "pods", "1"))
    after = counts(line("GET", "pods", "8"), line("LIST", "pods", "1"), line("POST", "pods", "2"))
    assert after.since(before).counts == {Request("GET", "pods"): 3, Request("POST", "pods"): 2}


def test_other_resources_and_watches_are_left_out() -> None:
    found = counts(
        line("PUT", "instances", "1", subresource="status"),
        line("WATCH", "instances", "4"),
        line("PUT", "leases", "9"),
    )
    assert found.of(["instances"]).counts == {Request("PUT", "instances/status"): 1}


def test_what_the_bench_sent_itself_is_taken_off() -> None:
    found = counts(line("POST", "instances", "10"), line("GET", "instances", "30"))
    left = found.without({Request("POST", "instances"): 10})
    assert left.counts == {Request("GET", "instances"): 30}
    assert left.total(READS) == 30
    assert left.total(["POST"]) == 0


def test_the_requests_of_one_object_are_told_with_the_most_frequent_first() -> None:
    found = counts(line("GET", "pods", "1"), line("POST", "events", "4"))
    assert list(found.each(2)) == ["2.00 POST events", "0.50 GET pods"]
