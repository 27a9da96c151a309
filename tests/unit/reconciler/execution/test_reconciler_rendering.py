"""The renderer: inline what is small, in real worker processes what is not, nothing twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from kudo.api import bounds
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.jobs import condition, object_check
from kudo.jobs.inputs import Inputs
from kudo.jobs.render import Output, Request
from kudo.objects.dependency_hash import content_digest
from kudo.parameters.template import RawParameter
from kudo.tasks.pipe import EnvFileError
from kudo.tasks.rendering import OUTPUTS_UNKNOWN, Variables
from kudo_reconciler.execution.rendering import Renderer
from workers import Limits, Observation, Pool

pytestmark = pytest.mark.asyncio(loop_scope="session")

LACKING = Path(__file__).parents[3] / "support" / "handlers"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
# Needs more steps than an event loop affords, and fewer than a worker does.
LONG = CONFIG_MAP + "data: {x: '{{ range 20000 }}{{ end }}'}\n"


@dataclass
class Bench:
    """A renderer with real worker processes, and the jobs that they got."""

    pool: Pool
    jobs: list[Observation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.renderer = Renderer(self.pool)

    async def objects(self, asked: Request) -> list[Any]:
        return [one.object for one in await self.renderer.objects(asked, "ns")]

    async def failure(self, asked: Request) -> FatalTaskError:
        with pytest.raises(FatalTaskError) as caught:
            await self.objects(asked)
        return caught.value


@contextlib.asynccontextmanager
async def bench(
    limits: Limits | None = None,
    *,
    on_job: Callable[[], None] = lambda: None,
    handlers: str = "kudo.jobs",
) -> AsyncIterator[Bench]:
    jobs: list[Observation] = []

    def observe(job: Observation) -> None:
        jobs.append(job)
        on_job()

    pool = Pool(handlers, limits=limits, observe=observe, path=[LACKING])
    task = asyncio.create_task(pool.run())
    try:
        yield Bench(pool, jobs)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared() -> AsyncIterator[Bench]:
    async with bench() as found:
        yield found


@pytest.fixture
def found(shared: Bench) -> Bench:
    """Worker processes that tests share, with a renderer that knows nothing yet."""
    shared.jobs.clear()
    return Bench(shared.pool, shared.jobs)


def request(
    *texts: str, output: Output = "objects", **parameters: tuple[str, str | None]
) -> Request:
    templates = {f"t{number}.yaml": text for number, text in enumerate(texts)}
    raw = tuple(RawParameter(name, kind, text) for name, (kind, text) in parameters.items())
    return Request(output, tuple(templates), templates, Variables({"Name": "i"}, raw))


async def test_what_is_small_is_rendered_inline(found: Bench) -> None:
    (obj,) = await found.objects(request(CONFIG_MAP, P=("array", "[1]")))
    assert obj["metadata"] == {"name": "a"}
    assert found.jobs == []


def with_outputs(asked: Request, **outputs: str) -> Request:
    fixed = {**asked.variables.fixed, "Outputs": {"t": outputs}}
    return replace(asked, variables=replace(asked.variables, fixed=fixed))


async def test_outputs_are_the_same_inline_and_in_a_worker_and_none_are_mixed_up(
    found: Bench,
) -> None:
    text = CONFIG_MAP + "data: {x: {{ .Outputs.t.n }}}\n"
    for template, jobs in ((text, 0), (text + LONG.removeprefix(CONFIG_MAP), 2)):
        template = template.replace("data: {x: '", "more: {x: '")
        for value in ("b", "c"):
            (obj,) = await found.objects(with_outputs(request(template), n=value))
            assert obj["data"] == {"x": value}
        assert len(found.jobs) == jobs
    # Outputs are data of a tenant, too.
    await found.objects(with_outputs(request(CONFIG_MAP), n="x" * 70_000))
    assert len(found.jobs) == 3


async def test_what_is_known_of_one_run_says_nothing_of_another_with_other_parameters(
    found: Bench,
) -> None:
    text = LONG + "# {{ .RunParams.n }}{{ fail .RunParams.n }}"
    for value in ("b", "c", "b"):
        asked = request(text)
        given = (RawParameter("n", None, value),)
        asked = replace(asked, variables=replace(asked.variables, run_parameters=given))
        assert f": {value}" in str(await found.failure(asked))


@pytest.mark.parametrize("size", [0, 70_000])
async def test_what_uses_outputs_is_not_rendered_where_there_are_none(
    found: Bench, size: int
) -> None:
    asked = request(CONFIG_MAP + "# {{ .Outputs.t.n }}" + "x" * size)
    unknown = replace(asked, variables=replace(asked.variables, outputs_known=False))
    assert (await found.failure(unknown)).reason == OUTPUTS_UNKNOWN
    assert len(found.jobs) == (1 if size else 0)
    # What is known of one request says nothing of the other.
    assert await found.objects(with_outputs(asked, n="b"))


def job_request(*args: str) -> Request:
    job = {"command": ["x"], "image": "{{ .Name }}", "args": [*args]}
    return Request("job", (), {}, Variables({"Name": "i"}, ()), task="backup", job=job)


@pytest.mark.parametrize(
    ("args", "in_worker"),
    [
        (["{{ .Name }}"], False),
        (["plain"] * 50, False),
        (["{{ .Name }}"] * 20, True),
        (["{{ range 20000 }}{{ end }}"], True),
        (["x" * 40_000] * 2, True),
    ],
    ids=["small", "texts", "templates", "steps", "characters"],
)
async def test_a_small_job_task_is_rendered_inline(
    found: Bench, args: list[str], in_worker: bool
) -> None:
    made = await found.renderer.document(job_request(*args), "ns")
    assert made["job"]["image"] == "i"
    assert len(made["job"]["args"]) == len(args)
    assert len(found.jobs) == in_worker


async def test_a_job_task_that_exceeds_a_limit_is_not_rendered_again(found: Bench) -> None:
    asked = job_request("{{ range 100000000 }}{{ end }}")
    for _ in range(2):
        with pytest.raises(FatalTaskError, match=r"task backup: job\.args\[0\]: ") as caught:
            await found.renderer.document(asked, "ns")
        assert caught.value.limit == "steps"
    assert len(found.jobs) == 1
    assert (await found.renderer.document(job_request("b"), "ns"))["job"]["args"] == ["b"]


@pytest.mark.parametrize(
    "asked",
    [
        request(LONG),
        request(CONFIG_MAP + "# " + "x" * 70_000),
        request(CONFIG_MAP, P=("array", "[" + "0," * 5_000 + "]")),
        request(CONFIG_MAP, P=("map", "{a: &a [" + "0," * 500 + "], b: [" + "*a," * 9 + "]}")),
        request(CONFIG_MAP + "data: [" + "0," * 3_000 + "]"),
        request(*[CONFIG_MAP] * 21),
        request(CONFIG_MAP + 'data: {x: {{ regexFind "[^x]{900}" "a" | quote }}}'),
        request(CONFIG_MAP + "data: {x: {{ encryptAES `a` `b` }}}"),
        request(CONFIG_MAP + "data: {x: {{ htpasswd `a` `b` | quote }}}"),
        request(CONFIG_MAP + "data: {x: {{ len (genPrivateKey `ecdsa`) }}}"),
        request(CONFIG_MAP + "# {{ range 3000 }}{{ end }}{{ dateInZone `MST` 0 `Asia/Tokyo` }}"),
        request(CONFIG_MAP + "# {{ range 3000 }}{{ end }}{{ semverCompare `>1` `2.0.0` }}"),
    ],
    ids=lambda asked: asked.templates["t0.yaml"][-40:],
)
async def test_what_is_larger_is_rendered_by_a_worker(found: Bench, asked: Request) -> None:
    objects = await found.objects(asked)
    assert [obj["metadata"] for obj in objects] == [{"name": "a"}] * len(asked.resources)
    assert [job.outcome for job in found.jobs] == ["ok"]


async def test_what_needed_a_worker_goes_straight_there(found: Bench) -> None:
    asked = request(LONG)
    first = await found.objects(asked)
    assert await found.objects(asked) == first
    assert [job.handler for job in found.jobs] == ["render", "render"]


async def test_an_error_that_is_no_limit_is_final_inline(found: Bench) -> None:
    error = await found.failure(request("{{ .Nowhere }}"))
    assert "map has no entry" in str(error)
    assert found.jobs == []


async def test_what_was_too_much_for_a_worker_is_refused_at_once_with_the_same_text(
    found: Bench,
) -> None:
    asked = request("{{ range 100000000 }}{{ end }}")
    first = await found.failure(asked)
    second = await found.failure(asked)
    assert (first.reason, first.limit) == ("TaskRenderingError", "steps")
    assert str(second) == str(first)
    assert second.limit == "steps"
    assert len(found.jobs) == 1
    # Something else is judged by itself.
    assert await found.objects(request(LONG))


async def test_a_limit_of_the_process_ends_the_step_and_is_remembered() -> None:
    asked = request(CONFIG_MAP + "# {{ range 30 }}{{ repeat 100000 `x` }}{{ end }}")
    async with bench(Limits(answer=16)) as found:
        first = await found.failure(asked)
        assert first.reason == "TaskRenderingError"
        assert first.limit == "answer"
        assert str(first).startswith("rendering t0.yaml: its result is larger than")
        assert str(first).endswith("make the templates, or the parameters they use, smaller")
        await found.failure(asked)
        assert [job.outcome for job in found.jobs] == ["answer"]


async def test_the_template_or_parameter_at_which_a_limit_was_exceeded_is_named() -> None:
    async with bench(handlers="lacking") as found:
        for asked, at in (
            (request(LONG, CONFIG_MAP + "# LARGE"), 'template "t1.yaml"'),
            (request(LONG, CONFIG_MAP, P=("map", "{a: b}"), Q=("map", "# LARGE")), 'parameter "Q"'),
        ):
            assert str(await found.failure(asked)) == (
                "rendering t0.yaml, t1.yaml: it needed more than the 192 MiB of memory of a worker "
                f"at {at}; make the templates, or the parameters they use, smaller"
            )


def when(expression: str, **parameters: tuple[str, str | None]) -> condition.Request:
    raw = tuple(RawParameter(name, kind, text) for name, (kind, text) in parameters.items())
    inputs = Inputs({"instance": {"name": "i"}}, raw, "it can use params")
    return condition.Request(expression, inputs)


async def test_conditions_are_evaluated_by_workers_and_once(found: Bench) -> None:
    values = {"SIZE": ("integer", "3"), "RING": ("boolean", "True"), "ZONES": ("array", "[a, b]")}
    for expression, expected in (
        ("params.SIZE + 1 == 4 && params.RING", True),
        ("'c' in params.ZONES", False),
        ("instance.name == 'i'", True),
    ):
        for _ in range(2):
            assert await found.renderer.holds(when(expression, **values), "ns") is expected
    assert [job.handler for job in found.jobs] == ["condition"] * 3


_DOUBLED = "".join(f"cel.bind(x{n + 1}, x{n} + x{n}, " for n in range(26))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            f"cel.bind(x0, '0123456789', {_DOUBLED}x26 == ''{')' * 27}",
            "it needed more than the 192 MiB of memory of a worker; write a simpler expression",
        ),
        ("params.ALL.all(a, params.ALL.all(b, a + b < 0))", "there is no field ALL"),
        ("params.X.all(a, params.X.all(b, a + b >= 0))", "takes too many steps"),
        ("(" * 500 + "true" + ")" * 500, "not valid CEL"),
    ],
)
async def test_hostile_conditions_end_the_step_and_cost_a_worker_once(
    found: Bench, expression: str, message: str
) -> None:
    many = str(list(range(300)))
    for _ in range(2):
        with pytest.raises(FatalTaskError, match="evaluating when: ") as caught:
            await found.renderer.holds(when(expression, X=("array", many)), "ns")
        assert caught.value.reason == "ConditionInvalid"
        assert message in str(caught.value)
    assert len(found.jobs) == 1


def check(*objects: object, until: str, **more: str) -> object_check.Request:
    inputs = Inputs({}, (RawParameter("NODES", "integer", "3"),), "it can use self")
    documents = tuple(map(orjson.dumps, objects))
    return object_check.Request({"until": until, **more}, True, inputs, documents)


async def test_checks_are_evaluated_by_workers_and_once_for_each_state(found: Bench) -> None:
    for ready, outcome in ((2, "waiting"), (3, "done"), (2, "waiting")):
        asked = check({"ready": ready}, until="self.ready == params.NODES")
        for _ in range(2):
            assert (await found.renderer.verdict(asked, "ns")).outcome == outcome
    assert [job.handler for job in found.jobs] == ["object_check"] * 2


@pytest.mark.parametrize(
    ("field", "expression"),
    [
        ("until", f"cel.bind(x0, self.text, {_DOUBLED}x26 == ''{')' * 27}"),
        ("failure", f"cel.bind(x0, self.text, {_DOUBLED}x26 == ''{')' * 27}"),
        ("message", f"cel.bind(x0, self.text, {_DOUBLED}x26{')' * 27}"),
    ],
)
async def test_checks_that_need_too_much_cost_a_worker_once(
    found: Bench, field: str, expression: str
) -> None:
    asked = check({"text": "0123456789"}, **{"until": "false", field: expression})
    for _ in range(2):
        with pytest.raises(FatalTaskError) as caught:
            await found.renderer.verdict(asked, "ns")
        assert caught.value.reason == "CheckInvalid"
        assert str(caught.value) == (
            f"evaluating check.{field}: it needed more than the 192 MiB of memory of a worker; "
            "write a simpler expression, or select fewer objects"
        )
    assert len(found.jobs) == 1


async def test_as_many_objects_as_a_check_may_have_fit_into_a_worker(found: Bench) -> None:
    conditions = [{"type": f"T{number}", "status": "True"} for number in range(6)]
    variables = [{"name": f"E{number}", "value": "v" * 20} for number in range(60)]
    pod = {"spec": {"containers": [{"env": variables}] * 2}, "status": {"conditions": conditions}}
    assert len(orjson.dumps(pod)) * bounds.CHECK_OBJECTS > bounds.CHECK_BYTES // 3
    pods = [pod] * bounds.CHECK_OBJECTS
    asked = check(*pods, until="objects.all(o, o.status.conditions.size() == 6)")
    assert (await found.renderer.verdict(asked, "ns")).outcome == "done"
    asked = check("x" * bounds.CHECK_BYTES, until="true")
    with pytest.raises(FatalTaskError, match="its input is larger than 8 MiB; write a simpler"):
        await found.renderer.verdict(asked, "ns")


async def test_what_is_our_fault_is_tried_again() -> None:
    async with bench() as found:
        renderer = found.renderer
        await renderer.objects(request(LONG), "ns")
    # The pool has been stopped.
    for _ in range(2):
        with pytest.raises(TransientTaskError, match="the worker processes are stopping"):
            await renderer.objects(request(LONG), "ns")
    assert [job.outcome for job in found.jobs] == ["ok", "busy", "busy"]


async def test_known_outcomes_are_bounded() -> None:
    # More templates than an event loop renders, which cost a worker little.
    many = [CONFIG_MAP] * 21
    async with bench(Limits(answer=16)) as found:
        for number in range(600):
            await found.failure(request(*many, P=("string", str(number))))
        # The last one is known, the first one was forgotten.
        for number, jobs in ((599, 600), (0, 601)):
            await found.failure(request(*many, P=("string", str(number))))
            assert len(found.jobs) == jobs


async def test_parameter_files_and_pods_are_read_inline_and_by_workers(found: Bench) -> None:
    pod = "apiVersion: v1\nkind: Pod\n"
    more = "# {{ range 20000 }}{{ end }}\n"
    for tail in ("", more):
        file = request("A: [1]\n" + tail, output="parameters")
        assert await found.renderer.document(file, "ns") == {"A": "- 1\n"}
        made = await found.renderer.document(request(pod + tail, output="pod"), "ns")
        assert made == {"apiVersion": "v1", "kind": "Pod"}
    assert len(found.jobs) == 2


async def test_the_loop_runs_between_the_objects_of_a_large_answer() -> None:
    text = "{{ range 60 }}\n---\n" + CONFIG_MAP + "data: {x: {{ repeat 60000 `x` }}}{{ end }}"
    turns: list[None] = []

    async def others() -> None:
        while True:
            turns.append(None)
            await asyncio.sleep(0)

    # The job has ended when it is observed, and its answer has not been decoded.
    async with bench(on_job=turns.clear) as found:
        waiting = asyncio.create_task(others())
        assert len(await found.objects(request(text))) == 60
        seen = len(turns)
        waiting.cancel()
    # Once for each 256 KiB of 3.6 MB.
    assert seen >= 10


@pytest.mark.parametrize("size", [10, 100_000])
async def test_digests_are_the_same_inline_and_in_a_worker(found: Bench, size: int) -> None:
    obj = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "x" * size}}
    made = await found.renderer.digest(obj, "ns", live=True)
    assert made == content_digest(obj)
    assert len(found.jobs) == (size > 10)


@pytest.mark.parametrize("lines", [2, 20_000])
async def test_env_files_are_read_inline_and_by_workers(found: Bench, lines: int) -> None:
    content = b"".join(b"KEY_%d=1\n" % number for number in range(lines))
    values = await found.renderer.env_file(content, "ns")
    assert values == {f"KEY_{number}": "1" for number in range(lines)}
    with pytest.raises(EnvFileError, match=f"line {lines + 1} has no '='"):
        await found.renderer.env_file(content + b"PASSWORD\n", "ns")
    assert len(found.jobs) == (2 if lines > 2 else 0)
