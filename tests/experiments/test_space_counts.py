"""Counts of `nb1shot1 space`, compared with papers.md, section 1.1.3 and N1-N7."""

from io import StringIO

import pandas as pd
import pytest
from refusals import refuses
from rich.console import Console

from nasbench1shot1 import registry
from nasbench1shot1.experiments.counts import (
    NAMES,
    PRINTED,
    RULES,
    TITLES,
    cells_by_vertices,
    choice_block_space,
    nasbench101_cells_by_vertices,
    nasbench101_counts,
    render_choice_blocks,
    render_nasbench101,
    shared_cells,
    space_counts,
    union_size,
)
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.search_spaces.choice_blocks import ChoiceBlockSpace

GOLDEN = {
    #                                  s1       s2       s3
    ("wirings", "all"): (180, 360, 5400),
    ("wirings", "all-live"): (38, 138, 445),
    ("wirings", "in-place"): (66, 190, 876),
    ("wirings", "renumbered"): (48, 164, 596),
    ("loose_ends", "encodings"): (14580, 29160, 1312200),
    ("loose_ends", "read-blocks"): (6240, 16632, 363648),
    ("loose_ends", PRINTED): (6240, 29160, 363648),
    ("no_loose_ends", "live-part"): (3702, 12474, 135900),
    ("no_loose_ends", "paper"): (3702, 12510, 137406),
    ("no_loose_ends", PRINTED): (3702, 12510, 137406),
    ("unique", "cell"): (2685, 7773, 55854),
    ("unique", PRINTED): (2685, 7773, 55854),
}


@pytest.fixture(scope="module")
def counts() -> pd.DataFrame:
    return space_counts()


def test_every_count_equals_its_known_value(counts: pd.DataFrame) -> None:
    assert list(counts.columns) == ["s1", "s2", "s3"]
    assert {row: tuple(counts.loc[row]) for row in counts.index} == GOLDEN


def test_every_row_has_a_title(counts: pd.DataFrame) -> None:
    assert {quantity for quantity, _ in counts.index} == set(TITLES)
    assert {rule for _, rule in counts.index} == set(RULES)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("s1", {3: 3, 4: 18, 5: 180, 6: 2484}),
        ("s2", {4: 24, 5: 513, 6: 7236}),
        ("s3", {3: 3, 4: 42, 5: 567, 6: 6210, 7: 49032}),
    ],
)
def test_cells_by_number_of_vertices(name: str, expected: dict[int, int]) -> None:
    assert cells_by_vertices(name) == expected


def test_only_s1_and_s3_share_cells() -> None:
    assert shared_cells().to_numpy().tolist() == [[2685, 0, 201], [0, 7773, 0], [201, 0, 55854]]
    assert union_size() == 66_111
    assert union_size(["s1"]) == 2685


def is_title(line: str) -> bool:
    return line.strip() == "Distinct cells by number of vertices"


def printed(*spaces: ChoiceBlockSpace) -> str:
    console = Console(width=100, file=StringIO())
    with console.capture() as captured:
        console.print(*render_choice_blocks(spaces), sep="\n")
    return captured.get()


def test_the_screen_shows_counts_next_to_the_papers_and_marks_differences() -> None:
    lines = printed(*map(choice_block_space, NAMES)).splitlines()

    def numbers(rule: str) -> list[list[str]]:
        return [line.replace("│", " ").split(RULES[rule])[1].split() for line in lines if RULES[rule] in line]

    assert numbers("encodings") == [["14,580", "≠", "29,160", "1,312,200", "≠"]]
    assert numbers("read-blocks") == [["6,240", "16,632", "≠", "363,648"]]
    assert numbers("live-part") == [["3,702", "12,474", "≠", "135,900", "≠"]]
    assert numbers(PRINTED) == [
        ["6,240", "29,160", "363,648"],
        ["3,702", "12,510", "137,406"],
        ["2,685", "7,773", "55,854"],
    ]
    assert lines[-2:] == [
        "Shared distinct cells: s1 and s2: 0, s1 and s3: 201, s2 and s3: 0.",
        "Together, these spaces have 66,111 distinct cells.",
    ]
    vertices = [line.replace("│", " ").split() for line in lines[lines.index(next(filter(is_title, lines))) :]]
    assert ["s2", "0", "24", "513", "7,236", "0"] in vertices


def test_a_space_without_published_counts_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = ChoiceBlockSpace("tiny", "tiny-v1", (1, 1))
    monkeypatch.setattr("nasbench1shot1.experiments.counts.search_space", {"tiny": tiny}.__getitem__)
    counts = space_counts(["tiny"])
    assert counts.loc[("unique", "cell"), "tiny"] == 4
    assert pd.isna(counts.loc[("unique", PRINTED), "tiny"])
    assert "printed in the paper" in printed(tiny)


def test_other_spaces_and_unknown_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with refuses(InvalidInputError, "s11", "s1"):
        space_counts(["s11"])
    monkeypatch.setattr("nasbench1shot1.experiments.counts.search_space", lambda name: registry)
    with refuses(InvalidInputError, "other"):
        space_counts(["other"])


def test_nasbench101_is_counted_in_both_readings() -> None:
    counts = nasbench101_counts()
    assert counts == {
        ("loose_ends", "all"): 509_607_936,
        ("loose_ends", "pruned"): 373_754_169,
        ("loose_ends", "raw"): 139_359_042,
        ("no_loose_ends", None): 1_293_208,
        ("unique", None): 423_624,
    }
    assert nasbench101_cells_by_vertices() == {2: 1, 3: 6, 4: 84, 5: 2441, 6: 62_010, 7: 359_082}
    console = Console(width=80, file=StringIO())
    with console.capture() as captured:
        console.print(*render_nasbench101(), sep="\n")
    lines = captured.get().splitlines()
    assert [line.replace("│", " ").split()[-1] for line in lines if "edge" in line] == [
        "509,607,936",
        "373,754,169",
        "139,359,042",
    ]
    assert all(len(line) <= 80 for line in lines)
