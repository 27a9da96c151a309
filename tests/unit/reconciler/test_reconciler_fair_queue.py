"""The fair queue: namespaces round-robin, a limit for each, runs that began before the rest."""

from collections import Counter, deque

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kudo_reconciler.fair_queue import FairQueue
from kudo_reconciler.keys import Key


def keys(namespace: str, count: int) -> list[Key]:
    return [Key(namespace, str(number)) for number in range(count)]


def filled(*groups: list[Key], limit: int = 1000) -> FairQueue:
    queue = FairQueue(limit=limit)
    for group in groups:
        for key in group:
            queue.put(key)
    return queue


def taken(queue: FairQueue) -> list[Key]:
    found = []
    while (key := queue.take()) is not None:
        found.append(key)
    return found


def test_namespaces_are_served_in_turn_each_in_its_own_order() -> None:
    noisy, calm, quiet = keys("noisy", 4), keys("calm", 2), keys("quiet", 1)
    order = [noisy[0], calm[0], quiet[0], noisy[1], calm[1], noisy[2], noisy[3]]
    assert taken(filled(noisy, calm, quiet)) == order


def test_a_key_beside_a_thousand_of_another_namespace_is_next_but_one() -> None:
    queue = filled(keys("noisy", 1000))
    queue.put(Key("calm", "i"))
    assert [queue.take(), queue.take()] == [Key("noisy", "0"), Key("calm", "i")]
    assert len(queue) == 999


def test_a_namespace_that_took_its_share_leaves_the_rest_to_others() -> None:
    queue = filled(keys("noisy", 1000), limit=3)
    assert taken(queue) == keys("noisy", 3)
    queue.put(Key("calm", "i"))
    assert taken(queue) == [Key("calm", "i")]
    queue.give_back(Key("noisy", "1"))
    assert taken(queue) == [Key("noisy", "3")]


def test_a_run_that_began_goes_before_those_of_its_namespace_that_have_not() -> None:
    queue = filled(keys("ns", 3), keys("other", 1))
    queue.put(Key("ns", "began"), first=True)
    queue.put(Key("ns", "began too"), first=True)
    names = [key.name for key in taken(queue) if key.namespace == "ns"]
    assert names == ["began", "began too", "0", "1", "2"]


def test_runs_that_began_do_not_keep_others_from_ever_beginning() -> None:
    queue = filled(keys("ns", 1))
    for number in range(100):
        queue.put(Key("ns", f"began {number}"), first=True)
    assert taken(queue).index(Key("ns", "0")) == 15


def test_nothing_is_kept_of_a_namespace_whose_keys_were_given_back() -> None:
    queue = FairQueue()
    for number in range(10):
        queue.put(Key(f"ns{number}", "i"))
    for key in taken(queue):
        queue.give_back(key)
    assert queue._namespaces == {}
    assert not queue._order


class Fairness(RuleBasedStateMachine):
    """Compares the queue with one list for each namespace."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = FairQueue(limit=2)
        self.waiting: dict[str, deque[Key]] = {}
        self.out: list[Key] = []
        self.passed: Counter[str] = Counter()
        self.numbers = iter(range(10**9))

    @rule(namespace=st.sampled_from("abc"))
    def put(self, namespace: str) -> None:
        key = Key(namespace, str(next(self.numbers)))
        self.queue.put(key)
        self.waiting.setdefault(namespace, deque()).append(key)

    @rule()
    def take(self) -> None:
        out = Counter(key.namespace for key in self.out)
        open_ones = {name for name, left in self.waiting.items() if left and out[name] < 2}
        key = self.queue.take()
        if key is None:
            assert not open_ones
            return
        assert key.namespace in open_ones
        assert key == self.waiting[key.namespace].popleft()
        self.out.append(key)
        # Who may be served is served before anybody else is served a second time.
        for name in open_ones - {key.namespace}:
            self.passed[name] += 1
            assert self.passed[name] <= 2
        self.passed[key.namespace] = 0

    @precondition(lambda self: bool(self.out))
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.out))
        self.out.remove(key)
        self.queue.give_back(key)

    @invariant()
    def counted(self) -> None:
        assert len(self.queue) == sum(map(len, self.waiting.values()))
        assert max(Counter(key.namespace for key in self.out).values(), default=0) <= 2


TestFairness = Fairness.TestCase
