"""Whatever the order of writes, answers, events and lists: the store ends up like the server.

The model is a server with a history. Events arrive in order but late, answers to own writes at
any time after the write (or never), and the stream may break, so that a list takes its place.
"""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from kubeio.cache.store import Delta, Store
from kubeio.types import JsonObject, copy_json, resource_version
from tests.support.selection.properties import examples

NAMES = st.sampled_from("abc")
INDEXER = {"color": lambda obj: [obj["spec"]["color"]]}


@dataclass
class Server:
    version: int = 10
    uids: int = 0
    objects: dict[str, JsonObject] = field(default_factory=dict)
    history: list[tuple[str, JsonObject]] = field(default_factory=list)

    def write(self, name: str, color: str) -> JsonObject:
        self.version += 1
        known = self.objects.get(name)
        if known is None:
            self.uids += 1
        uid = known["metadata"]["uid"] if known else f"u{self.uids}"
        metadata = {"name": name, "uid": uid, "resourceVersion": str(self.version)}
        self.objects[name] = {"metadata": metadata, "spec": {"color": color}}
        self.history.append(("MODIFIED" if known else "ADDED", self.objects[name]))
        return self.objects[name]

    def delete(self, name: str) -> JsonObject:
        self.version += 1
        last: JsonObject = copy_json(self.objects.pop(name))
        last["metadata"]["resourceVersion"] = str(self.version)
        self.history.append(("DELETED", last))
        return last


class Interleavings(RuleBasedStateMachine):
    answers = Bundle("answers")
    deletions = Bundle("deletions")

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.delivered = 0
        self.mirror: dict[str, JsonObject] = {}
        # Newest state of each name that reached the store in any way: version, alive or not.
        self.newest: dict[str, tuple[int, bool]] = {}
        self.store = Store(self.follow, indexers=INDEXER)

    def follow(self, delta: Delta) -> None:
        """Keep a second copy from the changes alone, and check that they make sense."""
        name = delta.object["metadata"]["name"]
        old = self.mirror.pop(name, None)
        assert delta.old is old
        assert (delta.kind == "added") is (old is None)
        if delta.kind == "deleted":
            return
        if old is not None:
            assert old["metadata"]["uid"] == delta.object["metadata"]["uid"]
            assert version_of(old) < version_of(delta.object)
        self.mirror[name] = delta.object

    def learn(self, obj: JsonObject, *, alive: bool) -> None:
        name = obj["metadata"]["name"]
        self.newest[name] = max(self.newest.get(name, (0, False)), (version_of(obj), alive))

    def observe(self, answer: JsonObject) -> None:
        self.learn(answer, alive=True)
        self.store.observe(copy_json(answer))

    @rule(name=NAMES, color=st.sampled_from(["red", "blue"]), target=answers)
    def write(self, name: str, color: str) -> JsonObject:
        return self.server.write(name, color)

    @rule(name=NAMES, color=st.sampled_from(["red", "blue"]), target=answers)
    def write_and_see_the_answer(self, name: str, color: str) -> JsonObject:
        answer = self.server.write(name, color)
        self.observe(answer)
        return answer

    @rule(name=NAMES, target=deletions)
    def delete(self, name: str) -> JsonObject | None:
        return self.server.delete(name) if name in self.server.objects else None

    @rule(answer=answers)
    def answer_to_an_own_write_arrives_late(self, answer: JsonObject) -> None:
        self.observe(answer)

    @rule(last=deletions)
    def answer_to_an_own_delete_arrives(self, last: JsonObject | None) -> None:
        if last is not None and self.store.observe_deleted(copy_json(last)):
            self.learn(last, alive=False)

    @rule(count=st.integers(1, 4))
    def events_arrive(self, count: int) -> None:
        for kind, obj in self.server.history[self.delivered : self.delivered + count]:
            self.delivered += 1
            self.learn(obj, alive=kind != "DELETED")
            if kind == "DELETED":
                self.store.remove(copy_json(obj))
            else:
                self.store.put(copy_json(obj))

    @rule()
    def bookmark_arrives(self) -> None:
        if self.delivered == len(self.server.history):
            self.store.reach(self.server.version)

    @rule(late=st.lists(answers, max_size=2), doomed=st.sets(NAMES), split=st.integers(0, 3))
    def the_stream_breaks_and_a_list_follows(
        self, late: list[JsonObject], doomed: set[str], split: int
    ) -> None:
        self.store.begin_list()
        items = list(self.server.objects.values())
        version = self.server.version
        self.delivered = len(self.server.history)
        self.store.add_page(copy_json(items[:split]))
        for answer in [*late, self.server.write("late", "red")]:
            self.observe(answer)
        for name in sorted(doomed & self.server.objects.keys()):
            self.answer_to_an_own_delete_arrives(self.server.delete(name))
        self.store.add_page(copy_json(items[split:]))
        self.store.end_list(version)
        listed = {item["metadata"]["name"]: (version_of(item), True) for item in items}
        for name in ("a", "b", "c", "late"):
            if self.newest.get(name, (0, False))[0] <= version:
                self.newest[name] = listed.get(name, (version, False))

    @invariant()
    def the_store_holds_the_newest_known_states(self) -> None:
        alive = {name: version for name, (version, lives) in self.newest.items() if lives}
        assert {name: version_of(obj) for name, obj in self.mirror.items()} == alive

    @invariant()
    def changes_tell_everything(self) -> None:
        assert self.mirror == {name: obj for (_, name), obj in self.store.objects.items()}

    @invariant()
    def indexes_agree_with_objects(self) -> None:
        for color in ("red", "blue"):
            found = {obj["metadata"]["name"] for obj in self.store.by_index("color", color)}
            assert found == {n for n, obj in self.mirror.items() if obj["spec"]["color"] == color}

    def teardown(self) -> None:
        self.events_arrive(len(self.server.history))
        assert self.mirror == self.server.objects
        if self.server.history:
            assert self.store.highest == self.server.version


def version_of(obj: JsonObject) -> int:
    version = resource_version(obj)
    assert version is not None
    return version


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=examples(30, deep=3_000), stateful_step_count=40)
