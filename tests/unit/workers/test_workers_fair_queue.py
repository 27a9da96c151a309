"""The fair queue: tenants in turn, each in its own order, some items before the rest; and usage."""

from collections import Counter, deque

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workers.queue import FairQueue, Usage


def filled(*items: str) -> FairQueue[str]:
    """Return a queue with items such as `a1`, of tenant a."""
    queue = FairQueue[str]()
    for item in items:
        queue.put(item[0], item)
    return queue


def named(tenant: str, count: int) -> list[str]:
    return [f"{tenant}{number}" for number in range(count)]


def drained(queue: FairQueue[str]) -> list[str]:
    return list(iter(queue.take, None))


def test_tenants_take_turns_and_their_own_items_keep_their_order() -> None:
    queue = filled("a1", "a2", "a3", "b1", "b2", "c1")
    assert drained(queue) == [*("a1", "b1", "c1"), *("a2", "b2"), "a3"]


def test_an_item_beside_a_thousand_of_another_tenant_is_next_but_one() -> None:
    queue = filled(*named("a", 1000), "b1")
    assert [queue.take(), queue.take()] == ["a0", "b1"]
    assert queue.waiting.total == 999
    assert queue.waiting.by_tenant() == {"a": 999}


def test_a_tenant_that_comes_back_waits_for_all_others() -> None:
    queue = filled("a1", "b1", "c1")
    assert queue.take() == "a1"
    queue.put("a", "a2")
    assert drained(queue) == ["b1", "c1", "a2"]


def test_a_tenant_that_may_have_nothing_keeps_its_turn() -> None:
    queue = filled("a1", "a2", "b1", "c1")
    assert queue.take(lambda tenant: tenant != "a") == "b1"
    assert queue.take(lambda _: False) is None
    assert drained(queue) == ["a1", "c1", "a2"]


def test_what_is_put_first_goes_before_the_rest_of_its_tenant_alone() -> None:
    queue = filled("a1", "a2", "b1")
    queue.put("a", "first", first=True)
    queue.put("a", "second", first=True)
    assert drained(queue) == ["first", "b1", "second", "a1", "a2"]


def test_what_is_put_first_does_not_keep_the_rest_waiting_for_ever() -> None:
    queue = filled("a1")
    for number in range(100):
        queue.put("a", f"first {number}", first=True)
    assert drained(queue).index("a1") == 15


def test_an_item_is_discarded_once_wherever_it_waits() -> None:
    queue = filled("a1", "a2", "b1")
    queue.put("a", "first", first=True)
    assert [queue.discard("a", item) for item in ("first", "a1", "a1", "b1")] == [
        *(True, True),
        *(False, False),
    ]
    assert not queue.discard("c", "c1")
    assert drained(queue) == ["a2", "b1"]


def test_nothing_is_kept_of_a_tenant_that_has_nothing() -> None:
    queue = filled("a1", "b1")
    queue.discard("a", "a1")
    queue.take()
    assert queue._tenants == {}
    assert queue.waiting.by_tenant() == {}


def test_usage_is_limited_for_one_tenant_and_for_all() -> None:
    usage = Usage(3, 2)
    usage.add("a", 2)
    assert [usage.has_room(tenant) for tenant in "ab"] == [False, True]
    usage.add("b")
    assert not usage.has_room("b")
    usage.remove("a")
    assert [usage.has_room(tenant) for tenant in "ab"] == [True, True]
    assert (usage.total, usage["a"], usage.by_tenant()) == (2, 1, {"a": 1, "b": 1})


def test_what_uses_nothing_is_counted_and_not_kept() -> None:
    usage = Usage()
    usage.add("a", 0)
    usage.add("a", 5)
    usage.remove("a", 5)
    usage.remove("a", 0)
    assert usage.by_tenant() == {}


class Fairness(RuleBasedStateMachine):
    """Compares a queue and what is in use of it with one list for each tenant."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = FairQueue[str]()
        self.usage = Usage(tenant_limit=2)
        self.waiting: dict[str, deque[str]] = {}
        self.out: list[str] = []
        self.passed: Counter[str] = Counter()
        self.numbers = iter(range(10**9))

    @rule(tenant=st.sampled_from("abc"))
    def put(self, tenant: str) -> None:
        item = f"{tenant}{next(self.numbers)}"
        self.queue.put(tenant, item)
        self.waiting.setdefault(tenant, deque()).append(item)

    @rule()
    def take(self) -> None:
        out = Counter(item[0] for item in self.out)
        open_ones = {name for name, left in self.waiting.items() if left and out[name] < 2}
        item = self.queue.take(self.usage.has_room)
        if item is None:
            assert not open_ones
            return
        tenant = item[0]
        assert tenant in open_ones
        assert item == self.waiting[tenant].popleft()
        self.usage.add(tenant)
        self.out.append(item)
        # Who may be served is served before anybody else is served a second time.
        for name in open_ones - {tenant}:
            self.passed[name] += 1
            assert self.passed[name] <= 2
        self.passed[tenant] = 0

    @precondition(lambda self: bool(self.out))
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(self.out))
        self.out.remove(item)
        self.usage.remove(item[0])

    @precondition(lambda self: any(self.waiting.values()))
    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        tenant = data.draw(st.sampled_from([name for name, left in self.waiting.items() if left]))
        item = data.draw(st.sampled_from(list(self.waiting[tenant])))
        self.waiting[tenant].remove(item)
        assert self.queue.discard(tenant, item)
        if not self.waiting[tenant]:
            self.passed[tenant] = 0

    @invariant()
    def counted(self) -> None:
        assert self.queue.waiting.total == sum(map(len, self.waiting.values()))
        assert self.usage.by_tenant() == Counter(item[0] for item in self.out)


TestFairness = Fairness.TestCase
