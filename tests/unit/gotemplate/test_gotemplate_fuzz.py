"""A short run of tests/golden/fuzz.py: damaged templates are errors, never anything else."""

import pytest

from tests.golden.fuzz import Fuzzer


@pytest.mark.parametrize("seed", range(4))
def test_damaged_templates_render_or_are_template_errors(seed: int) -> None:
    fuzzer = Fuzzer(seed)
    for _ in range(400):
        fuzzer.step()

    outcomes = fuzzer.summary.outcomes
    assert outcomes.total() == 400
    assert outcomes["rendered"] > 20
    assert outcomes["did not parse"] > 20
    assert outcomes["failed when executed"] > 20
