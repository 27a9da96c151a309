"""Which cells are chosen, and what is printed."""

from collections import Counter

import pytest

from tests.faults.cells import matrix
from tests.faults.injection.faults import DELETIONS, LATENESS, Fault

PLACES = {
    "deploy": ["apply services a", "apply services b", "apply jobs.batch j", "watch jobs.batch"],
    "backup": ["delete jobs.batch j", "apply jobs.batch j", "create events started"],
}
GROUP = matrix.Group("g", (Fault.CONFLICT, Fault.ERROR), full=99, part=4, workers=1)


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("apply services book", "apply services"),
        ("delete jobs.batch book-backup", "delete jobs.batch"),
        ("create events started of book", "create events started"),
        (
            "update instances.kudo.dev/status run ended of book",
            "update instances.kudo.dev/status run ended",
        ),
        (
            "update instances.kudo.dev/status step serve.store finished of book",
            "update instances.kudo.dev/status step finished",
        ),
        (
            "update instances.kudo.dev/status resumed, step p.a finished of book",
            "update instances.kudo.dev/status resumed, step finished",
        ),
        ("patch instances.kudo.dev finalizer off", "patch instances.kudo.dev finalizer off"),
        ("watch jobs.batch", "watch jobs.batch"),
    ],
)
def test_a_role_has_no_names(label: str, role: str) -> None:
    assert matrix.Cell("deploy", label, Fault.HANG).role == role


def test_writes_meet_the_faults_of_writes_and_watches_those_of_watches() -> None:
    watches = matrix.Group("w", (Fault.GONE,), full=9, part=9, workers=1)

    assert matrix.candidates(PLACES, watches) == [
        matrix.Cell("deploy", "watch jobs.batch", Fault.GONE)
    ]
    assert len(matrix.candidates(PLACES, GROUP)) == 2 * 6
    assert not any(cell.label.startswith("watch") for cell in matrix.candidates(PLACES, GROUP))


def test_events_of_operator_versions_are_not_lost_since_they_come_before_the_run() -> None:
    lost = matrix.Group("l", (Fault.DROPPED,), full=9, part=9, workers=1)
    places = {"deploy": ["watch operatorversions.kudo.dev", "watch pods"]}

    assert matrix.candidates(places, lost) == [matrix.Cell("deploy", "watch pods", Fault.DROPPED)]


def test_jobs_come_first() -> None:
    assert matrix.candidates(PLACES, GROUP)[0].label.endswith("jobs.batch j")


def test_all_cells_are_chosen_where_there_is_room() -> None:
    chosen = matrix.choose(PLACES, matrix.Sample(matrix.full))

    for group in matrix.GROUPS:
        assert sorted(chosen[group.name], key=str) == sorted(
            matrix.candidates(PLACES, group), key=str
        )


MANY = {
    f"stage{number}": [f"{verb} kind{n} x" for verb in ("apply", "delete") for n in range(8)]
    for number in range(4)
}


CHOSEN = [
    "stage0: apply kind0 x: killed before",
    "stage0: apply kind1 x: killed after",
    "stage1: apply kind2 x: killed before",
    "stage1: apply kind3 x: killed after",
    "stage0: delete kind5 x: killed, stale list",
    "stage1: delete kind6 x: killed, stale list",
]


def test_each_role_is_met_before_one_is_met_again() -> None:
    chosen = [
        cell for cells in matrix.choose(MANY, matrix.Sample(matrix.part)).values() for cell in cells
    ]

    assert {cell.role for cell in chosen} == {
        f"{verb} kind{n}" for verb in ("apply", "delete") for n in range(8)
    }


def test_each_fault_meets_each_role_before_it_meets_one_again() -> None:
    chosen = matrix.choose(MANY, matrix.Sample(matrix.full))["refusals"]

    for fault in (Fault.CONFLICT, Fault.THROTTLED, Fault.ERROR):
        roles = [cell.role for cell in chosen if cell.fault is fault][:16]
        assert len(set(roles)) == 16


def test_the_faults_of_a_group_get_equal_shares() -> None:
    chosen = matrix.choose(MANY, matrix.Sample(matrix.full))["crashes"]

    counts = Counter(cell.fault for cell in chosen)
    assert set(counts.values()) == {30}


def test_without_a_seed_the_choice_is_always_the_same() -> None:
    chosen = matrix.choose(MANY, matrix.Sample(matrix.part))

    assert [str(cell) for name in ("crashes", "stale starts") for cell in chosen[name]] == CHOSEN


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_seed_moves_the_choice_and_not_its_size(seed: str) -> None:
    moved, fixed = (
        matrix.choose(MANY, matrix.Sample(matrix.part, seed)),
        matrix.choose(MANY, matrix.Sample(matrix.part)),
    )

    assert moved != fixed
    assert moved == matrix.choose(MANY, matrix.Sample(matrix.part, seed))
    assert [len(cells) for cells in moved.values()] == [len(cells) for cells in fixed.values()]


@pytest.mark.parametrize("seed", ["", "1", "2"])
def test_a_cell_that_failed_once_is_run_whatever_the_seed(seed: str) -> None:
    for cell in matrix.candidates(PLACES, matrix.GROUPS[0]):
        sample = matrix.Sample(lambda _: 1, seed, kept=(cell,))
        assert matrix.choose(PLACES, sample)["crashes"].count(cell) == 1
        assert not any("did not come by" in line for line in matrix.choice_lines(PLACES, sample))


def test_a_cell_that_failed_once_is_missed_where_its_place_is_gone() -> None:
    cell = matrix.Cell("deploy", "apply jobs.batch gone", Fault.LATE)
    lines = list(matrix.choice_lines(PLACES, matrix.Sample(matrix.full, kept=(cell,))))

    assert lines[-1] == f"its place did not come by: {cell}"


def test_every_fault_belongs_to_one_group_or_to_the_matrix_in_memory() -> None:
    real = [fault for group in matrix.GROUPS for fault in group.faults]

    assert sorted([*real, *LATENESS, *DELETIONS]) == sorted(Fault)


@pytest.mark.parametrize(("budget", "limit"), [(matrix.full, 300), (matrix.part, 22)])
def test_there_is_a_limit_to_the_cells(budget: matrix.Budget, limit: int) -> None:
    counts = [budget(group) for group in matrix.GROUPS]

    assert sum(counts) == limit
    assert all(
        count >= len(group.faults) for count, group in zip(counts, matrix.GROUPS, strict=True)
    )


def test_the_choice_says_what_is_left_out() -> None:
    lines = list(matrix.choice_lines(PLACES, matrix.Sample(matrix.full)))

    assert lines[0] == "6 writes of 2 plans"
    assert "lost events (events dropped): 1 of 1 cells, 0 left out" in lines


def test_the_matrix_shows_each_cell_the_counts_and_what_is_wrong() -> None:
    results = [
        matrix.Result(matrix.Cell("deploy", "apply services a", Fault.ERROR), []),
        matrix.Result(
            matrix.Cell("deploy", "apply services a", Fault.CONFLICT), ["the plan is ERROR"], 2
        ),
        matrix.Result(matrix.Cell("backup", "apply jobs.batch j", Fault.ERROR), []),
        matrix.Result(matrix.Cell("first", "", None), ["a", "b", "c", "d", "e", "f", "g"]),
    ]

    lines = [" ".join(line.split()) for line in matrix.matrix_lines(results)]

    assert lines == [
        "backup apply jobs.batch j 500 ok",
        "deploy apply services a 500 ok, 409 FAILED",
        "first no fault FAILED",
        "",
        "409 0 of 1 passed",
        "500 2 of 2 passed",
        "all 2 of 4 passed",
        "FAILED deploy: apply services a: 409 (2 crashes met): the plan is ERROR",
        "FAILED first (0 crashes met): a; b; c; d; e; 2 more",
    ]
