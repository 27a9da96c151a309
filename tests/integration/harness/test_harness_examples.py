"""The suites of the examples, as a user runs them: each on a cluster that it starts itself."""

from pathlib import Path

from tests.integration.harness.whole_suites import files, kudo_test

ROOT = Path(__file__).resolve().parents[3]


async def test_the_suites_of_all_examples_pass_on_a_cluster_of_their_own() -> None:
    before = files(ROOT / "examples")

    done = await kudo_test(ROOT, "examples/")

    assert done.code == 0, done.output
    assert "All 11 cases passed" in done.output
    assert files(ROOT / "examples") == before
