"""Several replicas that keep the same certificates: any interleaving, crashes, and what people do.

The invariant: what a replica serves verifies against every caBundle as it is stored.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.selection.properties import examples
from tests.unit.webhook.certificates.built_in.world import SECRET, World

many = settings(max_examples=examples(6, deep=1_000))
AUTHORITY = f"{SECRET}-ca"

Action = tuple[str, float]

steps = st.tuples(st.just("step"), st.integers(0, 2).map(float))
passes = st.tuples(st.just("pass"), st.integers(0, 2).map(float))
kills = st.tuples(st.just("kill"), st.integers(0, 2).map(float))
moments = st.tuples(st.just("time"), st.floats(0.1, 12.0))
spells = st.tuples(st.just("time"), st.sampled_from([40.0, 85.0, 125.0, 330.0, 480.0, 605.0]))
hands = st.tuples(
    st.sampled_from(["delete leaf", "delete authority", "damage leaf", "damage authority"]),
    st.just(0.0),
)
actions = st.one_of(steps, steps, steps, passes, kills, moments, moments, spells, hands)


def play(world: World, action: Action) -> None:
    name, value = action
    match name:
        case "step":
            world.replicas[int(value)].step()
        case "pass":
            world.replicas[int(value)].finish()
        case "kill":
            world.replicas[int(value)].kill()
        case "time":
            world.pass_time(value)
        case "delete leaf":
            world.delete(SECRET)
        case "delete authority":
            world.delete(AUTHORITY)
        case "damage leaf":
            world.damage(SECRET)
        case "damage authority":
            world.damage(AUTHORITY)
        case _:
            raise AssertionError(name)


def all_pass(world: World) -> None:
    for replica in world.replicas:
        replica.finish()


def agree(world: World) -> None:
    """Let all replicas do passes until all serve what is stored, of the authority in force."""
    for _ in range(20):
        world.pass_time(2.0)
        all_pass(world)
        assert world.refused() == []
        if agreed(world):
            return
    raise AssertionError("the replicas do not agree")


def agreed(world: World) -> bool:
    leaf, authority = world.leaf, world.authority
    if leaf is None or authority is None or leaf.issuer != authority.certificate:
        return False
    trusted = all(authority.certificate in held for held in world.bundles())
    return trusted and {replica.served for replica in world.replicas} == {leaf}


def go_on(world: World, seconds: float, every: float = 2.0) -> None:
    """Let time pass while all replicas do their passes, and look after each request."""
    end = world.seconds + seconds
    while world.seconds < end:
        world.pass_time(every)
        for replica in world.replicas:
            replica.finish()
            assert world.refused() == []
        assert world.expired() == []


@many
@given(st.lists(actions, min_size=20, max_size=120))
def test_whatever_is_served_is_trusted_at_every_moment(played: list[Action]) -> None:
    world = World()
    for action in played:
        play(world, action)
        assert world.refused() == []
    agree(world)


@many
@given(
    st.lists(
        steps | kills | st.tuples(st.just("time"), st.floats(0.05, 0.5)), min_size=50, max_size=200
    )
)
def test_rotations_under_way_are_safe_in_any_order_of_the_requests(played: list[Action]) -> None:
    world = World()
    go_on(world, 480.0, every=20.0)
    for action in played:
        play(world, action)
        assert world.refused() == []
