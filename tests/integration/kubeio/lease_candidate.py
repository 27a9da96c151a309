"""A candidate as a process: says what happens to it, and writes a ConfigMap all the time it leads.

Arguments: kubeconfig, namespace, identity, and the three times of a lease in seconds.
"""

import asyncio
import itertools
import sys
import time

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.leader_election.elector import LeaderElector, LeaseTimes, NotLeading
from kubeio.resource import Resource

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


def say(text: str) -> None:
    print(f"{text} {time.monotonic()}", flush=True)  # noqa: T201


async def work(client: Client, namespace: str, identity: str) -> None:
    say("work")
    try:
        for number in itertools.count():
            obj = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"of-{identity}", "namespace": namespace},
                "data": {"number": str(number)},
            }
            await client.apply(CONFIG_MAP, obj, field_manager=identity)
            if number == 0:
                say("wrote")
    except NotLeading:
        say("refused")
        raise
    finally:
        say("idle")


async def main(kubeconfig: str, namespace: str, identity: str, *times: str) -> None:
    config = load_config(kubeconfig)
    async with Client(config) as client:
        elector = LeaderElector(
            lambda: Client(load_config(kubeconfig)),
            namespace=namespace,
            name="lease",
            identity=identity,
            times=LeaseTimes(*map(float, times)),
        )
        client.before_write = elector.check
        say("started")
        await elector.run(lambda: work(client, namespace, identity))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
