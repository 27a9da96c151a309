"""Built-in certificates on a real API server, with no more rights than the webhook has."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest
from cryptography import x509

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import Forbidden
from tests.integration.webhook.as_service import HOST, NAMESPACE, SECRETS, until_judging
from tests.integration.webhook.built_in import (
    AUTHORITY,
    LEAF,
    Replicas,
    two_replicas,
    writing,
)
from tests.support import build
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

SHORT = ("--leaf-lifetime=15s", "--ca-lifetime=36s")
QUICK = ("--leaf-lifetime=30s", "--ca-lifetime=12h")

Started = Callable[..., Awaitable[Replicas]]


@pytest.fixture
async def started(world: World) -> AsyncIterator[Started]:
    """Return a function that starts two webhooks and waits until both are asked."""
    entered: list[AbstractAsyncContextManager[Replicas]] = []

    async def start(*lifetimes: str) -> Replicas:
        # Plans are none of this: an Instance keeps the run that its last write has scheduled.
        await asyncio.to_thread(world.installation.reconciler.stop)
        context = two_replicas(world.installation, *lifetimes)
        replicas = await context.__aenter__()
        entered.append(context)
        await world.apply(
            build.operator_version(
                "op-1",
                templates={
                    "c.yaml": build.template(build.config_map("c", size="{{ .Params.SIZE }}"))
                },
                plans={"deploy": build.plan({"c": ["c"]})},
                parameters=[build.parameter("SIZE", "0")],
            )
        )
        await replicas.register()
        await replicas.start()
        await until_judging(world)
        return replicas

    yield start
    for context in entered:
        await context.__aexit__(None, None, None)


@pytest.mark.long
async def test_leaf_and_authority_are_rotated_under_load_without_a_failed_write(
    world: World, started: Started
) -> None:
    replicas = await started(*SHORT)
    [[first_authority], _] = await replicas.bundles()
    leaves: set[x509.Certificate] = set()
    authorities = {first_authority}
    sizes: set[int] = set()

    async def rotated() -> bool:
        leaves.update(await replicas.served())
        bundles = await replicas.bundles()
        authorities.update(*bundles)
        sizes.update(map(len, bundles))
        current = await replicas.stored(AUTHORITY)
        anew = current != first_authority and bundles == [[current], [current]]
        return anew and len({leaf.issuer for leaf in leaves}) == 2 and len(leaves) >= 4

    async with writing(world, replicas) as load:
        await wait_until(
            rotated,
            lambda: f"rotations: {len(leaves)} leaves, {len(authorities)} authorities, {sizes}",
            seconds=300,
        )
    assert load.failures == []
    assert load.written > 100
    assert sizes == {1, 2}
    assert first_authority not in (await replicas.bundles())[0]
    assert {one.issuer for one in await replicas.served()} != {first_authority.subject}


@pytest.mark.parametrize(
    ("names", "harm"),
    [
        ((LEAF, AUTHORITY), "delete"),
        pytest.param((LEAF, AUTHORITY), "damage", marks=pytest.mark.campaign),
        *(
            pytest.param((name,), harm, marks=pytest.mark.campaign)
            for name in (LEAF, AUTHORITY)
            for harm in ("delete", "damage")
        ),
    ],
)
async def test_what_people_do_to_the_secrets_is_mended_without_a_failed_write(
    world: World, started: Started, names: tuple[str, ...], harm: str
) -> None:
    replicas = await started(*QUICK)
    before = {name: await replicas.stored(name) for name in (LEAF, AUTHORITY)}

    async def mended() -> bool:
        after = {name: await replicas.stored(name) for name in (LEAF, AUTHORITY)}
        leaf, authority = after[LEAF], after[AUTHORITY]
        if leaf is None or authority is None or leaf.issuer != authority.subject:
            return False
        anew = all(after[name] != before[name] for name in names)
        return anew and set(await replicas.served()) == {leaf}

    async with writing(world, replicas) as load:
        for name in names:
            await getattr(replicas, harm)(name)
        await wait_until(mended, lambda: f"{names} to be mended", seconds=90)
        written = load.written

        async def went_on() -> bool:
            return load.written > written + 20

        await wait_until(went_on, lambda: "more writes")
    assert load.failures == []
    assert (await replicas.stored(AUTHORITY) == before[AUTHORITY]) is (AUTHORITY not in names)


async def test_replicas_share_one_pair_also_after_a_restart(world: World, started: Started) -> None:
    replicas = await started("--leaf-lifetime=1h", "--ca-lifetime=2h")
    [leaf] = set(await replicas.served())
    assert leaf == await replicas.stored(LEAF)
    await asyncio.to_thread(replicas.second.kill)
    await replicas.start()
    assert await replicas.served() == [leaf, leaf]
    written = sum(writes(text) for text in await metrics(replicas))
    assert written <= 1 + 1 + 2


async def metrics(replicas: Replicas) -> list[str]:
    both = (replicas.first, replicas.second)
    return [(await asyncio.to_thread(one.get, "/metrics"))[1] for one in both]


def writes(text: str) -> int:
    lines = [one for one in text.splitlines() if one.startswith("kudo_certificate_writes_total{")]
    return int(sum(float(line.split()[-1]) for line in lines))


async def test_the_serving_secret_holds_what_its_readers_need_and_no_signing_key(
    world: World, started: Started
) -> None:
    replicas = await started("--leaf-lifetime=1h", "--ca-lifetime=2h")
    leaf, authority = await replicas.secret(LEAF), await replicas.secret(AUTHORITY)
    assert leaf is not None
    assert authority is not None
    assert {leaf["type"], authority["type"]} == {"kubernetes.io/tls"}
    assert leaf["data"].keys() == {"tls.crt", "tls.key", "ca.crt"}
    assert leaf["data"]["ca.crt"] == authority["data"]["tls.crt"]
    assert leaf["data"]["tls.key"] != authority["data"]["tls.key"]
    names = (await replicas.served())[0].extensions
    assert HOST in str(names)


async def test_the_webhook_can_make_no_other_secret(world: World) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "another", "namespace": NAMESPACE},
    }
    kubeconfig = world.installation.cluster.kubeconfig("webhook")
    async with Client(load_config(kubeconfig)) as webhook:
        with pytest.raises(Forbidden):
            await webhook.create(SECRETS, secret)
        with pytest.raises(Forbidden):
            await webhook.create(
                SECRETS, {**secret, "metadata": {"name": LEAF}}, namespace=NAMESPACE
            )
        with pytest.raises(Forbidden):
            await webhook.apply(SECRETS, secret, field_manager="test")
        with pytest.raises(Forbidden):
            await webhook.list(SECRETS, namespace=NAMESPACE)
