"""`nb1shot1 space` for any selection of spaces; counts of nb201 from papers.md, section 3.1."""

from io import StringIO

import pytest
from rich.console import Console

import nasbench1shot1 as nb
from nasbench1shot1.commands.space import Space
from nasbench1shot1.experiments import counts
from nasbench1shot1.search_spaces.nasbench201 import NASBench201Space


def lines_of(*names: str) -> list[str]:
    console = Console(width=80, file=StringIO())
    with console.capture() as captured:
        console.print(*counts.render_sizes(names), sep="\n")
    return captured.get().splitlines()


def test_nb201_architectures_are_counted_by_kind() -> None:
    space = nb.search_space("nb201")
    assert counts.kind_counts(space) == {"all": 15_625, "unique_skip_connect": 12_751, "unique": 6_466}
    assert set(space.kind_descriptions) == set(space.kinds)
    rows = [line.replace("│", " ").split() for line in lines_of("nb201") if line.startswith("│")]
    assert [(row[0], row[-1]) for row in rows] == [
        ("all", "15,625"),
        ("unique_skip_connect", "12,751"),
        ("unique", "6,466"),
    ]
    assert all(row[1:-1] for row in rows)  # every kind is described


def test_nb101_mini_is_counted_like_nb101() -> None:
    printed = lines_of("nb101-mini")
    assert "NAS-Bench-Mini, nb101-mini" in printed[0]
    for count in ("2,654,208", "2,198,502", "1,948,860", "128,509", "64,542"):
        assert any(line.replace("│", " ").split()[-1:] == [count] for line in printed)
    assert ["nb101-mini", "1", "6", "84", "2,441", "62,010"] in [line.replace("│", " ").split() for line in printed]


def test_choice_block_spaces_share_a_table() -> None:
    printed = lines_of("s1", "nb201", "s2", "s1")
    titles = [line.strip() for line in printed if line.strip().startswith(("Sizes of", "NAS-Bench-101"))]
    assert titles == ["Sizes of the search spaces", "Sizes of nb201"]
    shared = printed.index("Shared distinct cells: s1 and s2: 0.")
    assert printed[shared + 1] == "Together, these spaces have 10,458 distinct cells."
    assert all(len(line) <= 80 for line in printed)


def test_every_space_of_the_package_is_selected_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    selected: list[str] = []
    for render in ("render_choice_blocks", "render_nasbench101", "render_kinds"):
        monkeypatch.setattr(counts, render, lambda spaces: [space.name for space in spaces])
    selected.extend(map(str, counts.render_sizes()))
    assert selected == ["s1", "s2", "s3", "nb101", "nb101-mini", "nb101-5v", "nb201", "nats-size"]


def test_a_third_party_space_is_counted_without_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    other = NASBench201Space()
    monkeypatch.setattr(other, "name", "mine")
    monkeypatch.setattr(NASBench201Space, "sizes_caption", None)
    monkeypatch.setattr(counts, "search_space", lambda name: other)
    printed = "\n".join(lines_of("mine"))
    assert "Sizes of mine" in printed
    assert "Dong" not in printed
    assert "6,466" in printed


def test_an_unknown_space_is_refused_before_anything_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(nb.InvalidInputError, match="mean 'nb201'"):
        Space(names=("nb201", "nb20")).run()
    assert capsys.readouterr().out == ""


def test_the_command_prints_the_given_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    Space(names=("nb201",)).run()
    printed = capsys.readouterr().out
    assert "12,751" in printed
    assert "Sizes of the search spaces" not in printed
