"""Values of one decision: a shared budget, each read once, and what a worker's answer decides."""

import pytest

from goyaml import INLINE, Limits
from kudo.parameters import values
from kudo.parameters.values import Checker, CheckResults, Fault, read_all, read_fully

BIG = "[" + "0," * INLINE.nodes + "]"
"""More than an event loop reads."""
BILLION = "[&a " + "x" * 1000 + ", *a" * 2000 + "]"
"""More than anybody reads."""


@pytest.fixture
def few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "DEFAULT_LIMITS", Limits(nodes=12_000))


def checker(results: CheckResults | None = None) -> Checker:
    return Checker(CheckResults() if results is None else results)


def test_within_the_budget_a_decision_says_what_a_full_read_says(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        ("array", "[1]"),
        ("array", "a: b"),
        ("array", "[a"),
        ("map", "a: b"),
        ("map", "null"),
        ("integer", "5"),
        ("integer", "x" * 500),
        ("number", "1e3"),
        ("boolean", "yes"),
        ("unheard-of", "x"),
    ]
    for value_type, text in table:
        with subtests.test(value_type=value_type, text=text):
            check = checker()
            assert check(value_type, text) == read_fully(value_type, text)
            assert check.pending == ()


def test_a_value_of_many_parameters_is_read_once() -> None:
    check = checker()
    for _ in range(1000):
        assert check("array", "[1, 2") == read_fully("array", "[1, 2")
        assert check("integer", "1" * 1000) == Fault("value out of range")
    assert check.reads == 2


def test_a_value_that_another_decision_read_is_not_read_again() -> None:
    results = CheckResults()
    first, second = checker(results), checker(results)
    assert first("map", "[1]") == second("map", "[1]") == Fault()
    assert (first.reads, second.reads) == (1, 0)
    assert second("array", "[1]") is None


def test_all_values_share_the_budget_and_the_rest_is_left_to_a_worker() -> None:
    texts = [f"[{number}, 2, 3, 4, 5, 6, 7, 8, 9]" for number in range(500)]
    check = checker()
    for text in texts:
        assert check("array", text) is None
    assert 0 < len(check.pending) < len(texts)
    assert check.pending == tuple(("array", text, "") for text in texts[-len(check.pending) :])
    # The first of them was tried; after it nothing is.
    assert check.reads == len(texts) - len(check.pending) + 1
    check.learn(read_all(check.pending))
    assert check.pending == ()
    reads = check.reads
    assert [check("array", text) for text in texts] == [None] * len(texts)
    assert check.reads == reads


def test_the_alias_entries_of_one_operator_version_stay_within_the_budget() -> None:
    values = [f"[&a{n} [" + "0," * 60 + "]" + f", *a{n}" * 16_000 + "]" for n in range(151)]
    check = checker()
    for text in values:
        check("array", text)
    assert len(check.pending) == len(values)
    faults = read_all(check.pending)
    assert len(faults) < len(values)
    assert faults[-1] is not None
    assert faults[-1].limit == "nodes"


def test_a_hostile_value_is_remembered_and_refused_at_once() -> None:
    results = CheckResults()
    check = checker(results)
    assert check("array", BILLION) is None
    check.learn(read_all(check.pending))
    fault = check("array", BILLION)
    assert fault is not None
    assert fault.limit == "aliased"
    again = checker(results)
    assert again("array", BILLION) == fault
    assert (again.reads, again.pending) == (0, ())


@pytest.mark.usefixtures("few_nodes")
def test_what_only_all_values_together_exceed_is_remembered_of_none() -> None:
    values = [("array", "[" + f"{number}," * 4_500 + "]") for number in range(4)]
    faults = read_all((*value, "") for value in values)
    assert [fault.limit if fault else "" for fault in faults] == ["", "", "nodes"]
    last = faults[-1]
    assert last is not None
    assert last.together
    assert last.detail.startswith("with the other arrays and maps of this request, line 1")
    results = CheckResults()
    check = checker(results)
    for value in values:
        check(*value)
    check.learn(faults)
    assert [check(*value) for value in values] == [None, None, last, None]
    alone = checker(results)
    for value in values[:3]:
        assert alone(*value) is None
    assert alone.pending == tuple((*value, "") for value in values[:3])
    assert not alone.known_batch()


@pytest.mark.usefixtures("few_nodes")
def test_a_request_that_is_too_large_as_a_whole_stays_so_however_often_it_is_sent() -> None:
    values = [("array", "[" + f"{number}," * 4_500 + "]") for number in range(4)]
    results, answers, read = CheckResults(), [], 0
    for _ in range(3):
        check = checker(results)
        for value in values:
            check(*value)
        if not check.known_batch():
            check.learn(read_all(check.pending))
            read += 1
        answers.append([check(*value) for value in values])
    assert read == 1
    assert answers[0][2] is not None
    assert answers[1:] == answers[:1] * 2


def test_values_with_which_a_worker_exceeded_a_limit_are_refused_at_once_afterwards() -> None:
    results = CheckResults()
    check = checker(results)
    values = [("array", BIG), ("map", BIG)]
    for value in values:
        check(*value)
    assert not check.known_batch()
    check.give_up("cpu", "it took more than 5 s of CPU time")
    refused = Fault("it took more than 5 s of CPU time; give it a smaller value", "cpu", True)
    assert [check(*value) for value in values] == [refused, refused]
    again = checker(results)
    for value in values:
        again(*value)
    assert again.known_batch()
    assert [again(*value) for value in values] == [refused, refused]
    # The fault may be the other one's.
    alone = checker(results)
    alone(*values[0])
    assert not alone.known_batch()


def test_the_value_that_a_worker_was_reading_at_a_limit_is_the_one_that_is_blamed() -> None:
    results = CheckResults()
    values = [("array", BIG), ("map", BIG)]
    blamed = Fault(
        "with the other arrays and maps of this request, it took more than 5 s of CPU time; "
        "give it a smaller value",
        "cpu",
        together=True,
    )
    check = checker(results)
    for value in values:
        check(*value)
    check.give_up("cpu", "it took more than 5 s of CPU time", at=1)
    assert [check(*value) for value in values] == [None, blamed]
    again = checker(results)
    for value in values:
        again(*value)
    assert again.known_batch()
    assert [again(*value) for value in values] == [None, blamed]


def test_of_a_value_that_there_is_not_all_are_blamed() -> None:
    check = checker()
    values = [("array", BIG), ("map", BIG)]
    for value in values:
        check(*value)
    check.give_up("wall", "it took more than 5 s", at=2)
    refused = Fault("it took more than 5 s; give it a smaller value", "wall", together=True)
    assert [check(*value) for value in values] == [refused, refused]


def test_a_value_that_a_slow_worker_did_not_finish_is_tried_again() -> None:
    results = CheckResults()
    check = checker(results)
    check("array", BIG)
    check.give_up("wall", "it took more than 5 s")
    fault = check("array", BIG)
    assert fault is not None
    assert fault.limit == "wall"
    again = checker(results)
    again("array", BIG)
    assert not again.known_batch()


def test_a_value_nested_too_deeply_is_refused_without_a_worker() -> None:
    check = checker()
    fault = check("array", "[" * 200)
    assert fault is not None
    assert fault.limit == "depth"
    assert check.pending == ()


def test_the_least_recently_used_result_goes_first() -> None:
    results = CheckResults(entries=2)
    results.keep(b"a", None)
    results.keep(b"b", Fault())
    assert results.find(b"a") == (None,)
    results.keep(b"c", None)
    assert results.find(b"b") is None
    assert results.find(b"a") == (None,)
    assert len(results) == 2


def test_a_detail_does_not_grow_with_the_value() -> None:
    for text in ("*" + "x" * 100_000, "!!int '" + "x" * 100_000 + "'", "{" * 50_000):
        fault = read_fully("array", text)
        assert fault is not None
        assert len(fault.detail) < 300
