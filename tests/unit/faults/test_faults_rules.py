"""When a rule strikes, and what is on record."""

from tests.faults.injection.faults import Fault, Rule, Rules


def test_a_rule_strikes_once_at_its_label_in_its_namespace() -> None:
    rules, rule = Rules(), Rule("a", "apply jobs j", Fault.ERROR)
    rules.arm("a", rule)
    came = [("b", "apply jobs j"), ("a", "other")] + [("a", "apply jobs j")] * 3

    struck = [rules.strike(namespace, label) for namespace, label in came]

    assert struck == [None, None, rule, None, None]
    assert rule.struck == 1


def test_dropping_begins_with_the_first_write_and_goes_on() -> None:
    rules, rule = Rules(), Rule("a", "watch jobs", Fault.DROPPED)
    rules.arm("a", rule)
    came = ["watch jobs", "watch pods", "apply jobs j", "watch jobs", "watch jobs"]

    assert [rules.strike("a", label) for label in came] == [None, None, None, rule, rule]
    assert rule.struck == 2


def test_what_came_by_is_counted_from_arming_to_withdrawal() -> None:
    rules = Rules()
    rules.strike("a", "early")
    rules.arm("a", None)
    for label in ("x", "y", "x"):
        rules.strike("a", label)

    assert rules.withdraw("a") == {"x": 2, "y": 1}
    assert rules.withdraw("a") == {}


def test_a_withdrawn_rule_does_not_strike() -> None:
    rules, rule = Rules(), Rule("a", "x", Fault.HANG)
    rules.arm("a", rule)
    rules.withdraw("a")

    assert rules.strike("a", "x") is None
    assert rule.struck == 0


def test_a_new_rule_takes_the_place_of_the_last() -> None:
    rules, first, second = Rules(), Rule("a", "x", Fault.HANG), Rule("a", "y", Fault.HANG)
    rules.arm("a", first)
    rules.arm("a", second)

    assert rules.strike("a", "x") is None
    assert rules.strike("a", "y") is second


def test_each_event_is_sent_twice_and_each_is_late() -> None:
    for fault in (Fault.DUPLICATED, Fault.EVENTS_2_S):
        rules = Rules()
        rules.arm("ns", Rule("ns", "watch pods", fault))

        assert [bool(rules.strike("ns", "watch pods")) for _ in range(2)] == [True, True]
