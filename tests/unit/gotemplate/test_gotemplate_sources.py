"""Time and chance of a rendering: its deadline, expensive calls, and where functions get them."""

import itertools
from collections.abc import Callable

import pytest

from gotemplate import Environment, Function, Limits, Sources, TemplateError
from gotemplate.rendering import Rendering

LOOP = "{{ range until 5000 }}{{ . }}{{ end }}"


def ticking(seconds: float) -> Callable[[], float]:
    """Give a clock that has moved on by so many seconds each time it is looked at."""
    ticks = itertools.count()
    return lambda: next(ticks) * seconds


def error_of(text: str, environment: Environment) -> TemplateError:
    with pytest.raises(TemplateError) as caught:
        environment.parse("t", text).render({})
    return caught.value


def test_a_rendering_ends_when_its_seconds_are_over() -> None:
    environment = Environment(limits=Limits(seconds=3), sources=Sources(elapsed=ticking(1)))
    error = error_of(LOOP, environment)

    assert error.limit == "seconds"
    assert str(error) == (
        'template: t:1:15: executing "t" at <5000>: seconds limit exceeded: at most 3'
    )


def test_every_rendering_has_all_its_seconds() -> None:
    environment = Environment(limits=Limits(seconds=90), sources=Sources(elapsed=ticking(1)))
    template = environment.parse("t", LOOP)

    assert template.render({}) == template.render({}) == template.render({})


def test_the_clock_is_looked_at_now_and_then_only() -> None:
    looks = itertools.count()
    environment = Environment(sources=Sources(elapsed=lambda: float(0 * next(looks))))
    environment.parse("t", LOOP).render({})

    assert 20 < next(looks) < 100


def test_many_small_calls_are_stopped_by_the_clock_too() -> None:
    environment = Environment(limits=Limits(seconds=3), sources=Sources(elapsed=ticking(1)))
    text = '{{ define "x" }}.{{ end }}' + '{{ template "x" }}' * 2000

    assert error_of(text, environment).limit == "seconds"


def _slow(run: Rendering) -> str:
    run.spend()
    return "key"


def test_expensive_calls_are_counted() -> None:
    functions = {"slow": Function("slow", _slow, uses_rendering=True)}
    environment = Environment(functions=functions, limits=Limits(expensive=2))

    assert environment.parse("t", "{{ slow }}{{ slow }}").render({}) == "keykey"
    error = error_of("{{ slow }}{{ slow }}{{ slow }}", environment)
    assert error.limit == "expensive"
    assert error.message == "error calling slow: expensive limit exceeded: at most 2 calls"


def test_an_expensive_call_looks_at_the_clock() -> None:
    functions = {"slow": Function("slow", _slow, uses_rendering=True)}
    sources = Sources(elapsed=ticking(2))
    environment = Environment(functions=functions, limits=Limits(seconds=3), sources=sources)

    assert error_of("{{ slow }}{{ slow }}", environment).limit == "seconds"


def test_output_counts_bytes() -> None:
    environment = Environment(limits=Limits(output=10))

    assert environment.parse("t", "é" * 5).render({}) == "é" * 5
    assert error_of("é" * 6, environment).limit == "output"
    assert error_of("a" * 11, environment).limit == "output"


def test_functions_get_their_sources_from_the_environment() -> None:
    def show(run: Rendering) -> str:
        return f"{run.sources.now()} {run.sources.random(2).hex()} {run.sources.variables['A']}"

    sources = Sources(now=lambda: 7, random=lambda count: b"\x01" * count, variables={"A": "b"})
    environment = Environment(
        functions={"show": Function("show", show, uses_rendering=True)}, sources=sources
    )

    assert environment.parse("t", "{{ show }}").render({}) == "7 0101 b"


def test_a_fault_of_a_function_is_a_template_error_that_says_so() -> None:
    def broken() -> str:
        return str(1 // 0)

    environment = Environment(functions={"broken": Function("broken", broken)})
    error = error_of("{{ broken }}", environment)

    assert error.message.startswith("internal error: ZeroDivisionError")
