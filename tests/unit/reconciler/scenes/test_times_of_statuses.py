"""Times in statuses and events: the API server's, whatever the reconciler's own clock shows."""

from datetime import datetime, timedelta

import pytest

from kudo.api.times import rfc3339
from tests.support.apiserver.cluster import moment
from tests.support.world.replica import LoopClock
from tests.unit.reconciler.scenes.scene import Scene, of_kind, play, version


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_run_has_the_api_servers_times(ahead: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(clock: LoopClock) -> datetime:
        del clock
        return moment() + ahead

    monkeypatch.setattr(LoopClock, "now", wrong)

    async def body(scene: Scene) -> None:
        began = rfc3339(moment())
        await scene.install("i", of=version(of_kind("ConfigMap", "a"), deploy=["apply"]))
        entry = scene.entry("i", "deploy")
        times = [entry["startedAt"], entry["finishedAt"], rfc3339(moment())]
        assert [began, *times] == sorted([began, *times])
        events = scene.life.cluster.server.storage.table(("", "events")).objects.values()
        assert {one["firstTimestamp"] for one in events} <= {*times, began}

    play(body)
