"""The table of all methods in the documentation, which a script writes from the values of studies."""

from itertools import islice

import methods_table
import pandas
from page_section import marks

import nasbench1shot1 as nb


def test_the_page_shows_the_shipped_values():
    docs = methods_table.PAGE.parent
    values, cells = (pandas.read_csv(docs / name) for name in (methods_table.VALUES, methods_table.CELLS))
    begin, end = marks(methods_table.NAME)
    shown = methods_table.PAGE.read_text(encoding="utf-8").split(begin)[1].split(end)[0]
    assert shown.split("\n")[2:-2] == methods_table.section(values, cells)


def test_baselines_are_last_and_places_without_the_regret_are_left_out():
    rows = [
        ("s1", "darts", 10, 0.01, 0.005),
        ("s1", "random sampling", 0, 0.03, 0.01),
        ("nats-size", "tas", 4, 0.004, None),
        ("nats-size", "random sampling", 0, 0.02, None),
        ("nats-size", "always the largest network", 0, 0.0025, None),
    ]
    values = pandas.DataFrame(rows, columns=["panel", "curve", "seeds", "final_mean", "best_seen_mean"])
    assert methods_table.table(values, "final") == [
        "| method | s1 | nats-size |",
        "|---|---|---|",
        "| `darts` | 1.00 (10) | – |",
        "| `tas` | – | 0.40 (4) |",
        "| random sampling | 3.00 | 2.00 |",
        "| always the largest network | – | 0.25 |",
    ]
    assert methods_table.table(values, "best_seen") == [
        "| method | s1 |",
        "|---|---|",
        "| `darts` | 0.50 (10) |",
        "| random sampling | 1.00 |",
    ]


SMALL = "s1:0|0,1|0,1|0,3|0,1:conv3x3,conv1x1,maxpool3x3,conv1x1"
ZEROS = "nb201:|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"


def made_searches(space, *architectures):
    """The rows of searches of one method that end at these architectures."""
    ends = [nb.Architecture.parse(text) for text in architectures]
    return pandas.DataFrame(
        [
            {
                "panel": space,
                "curve": "gdas",
                "final_cell_hash": end.network_id,
                "final_architecture": text,
                "distinct_networks": 2,
                "final": 0.1,
            }
            for text, end in zip(architectures, ends, strict=True)
        ]
    )


def test_frequent_cells_are_counted_as_pruned_cells():
    other = "s1:0|0,1|1,2|0,3|0,1:conv3x3,conv3x3,conv3x3,conv3x3"  # the same cell as SMALL
    small = nb.Architecture.parse(SMALL).network_id
    once = (str(each) for each in nb.search_space("s1").architectures("unique") if each.network_id != small)
    rare = islice(once, 48)
    searches = pandas.concat([made_searches("s1", SMALL, other, *rare), made_searches("nb201", ZEROS)])
    first, *_, last = methods_table.frequent_cells(searches).itertuples()
    assert first.cell == "input → 3×3 conv, input → output, 3×3 conv → output"
    assert (first.panel, first.searches, first.of, first.methods) == ("s1", 2, 50, "gdas 2")
    assert (last.panel, last.cell, last.searches) == ("nb201", f"`{ZEROS}`", 1)


def test_without_a_frequent_cell_the_file_keeps_its_columns():
    cells = islice(nb.search_space("s1").architectures("unique"), 26)  # each is less than 4 % of 26
    frame = methods_table.frequent_cells(made_searches("s1", *map(str, cells)))
    assert frame.empty and [*frame] == [*pandas.read_csv(methods_table.PAGE.parent / methods_table.CELLS)]


def test_repeated_operations_of_a_cell_are_numbered():
    cell = methods_table.edges("s1:0|0,1|0,2|0,2|0,2:conv3x3,conv3x3,conv1x1,conv3x3")
    assert cell.startswith("input → 3×3 conv (1)") and cell.endswith("3×3 conv (2), 3×3 conv (2) → output")


def test_final_widths_are_means_over_layers_and_searches():
    ends = made_searches("nats-size", "nats-size:8:16:24:32:40", "nats-size:64:64:64:64:64")
    assert methods_table.mean_widths(pandas.concat([ends, made_searches("s1", SMALL)])).to_dict() == {"gdas": 44.0}


def test_a_section_is_replaced_and_values_of_all_files_are_kept(tmp_path, monkeypatch, capsys):
    values = pandas.read_csv(methods_table.PAGE.parent / methods_table.VALUES)
    files = [tmp_path / f"{space}.csv" for space in ("s1", "nb201")]
    for file in files:
        values[values["panel"] == file.stem].to_csv(file, index=False)
        end_at = SMALL if file.stem == "s1" else ZEROS
        made_searches(file.stem, end_at).to_csv(file.with_name(f"{file.stem}-searches.csv"), index=False)
    begin, end = marks(methods_table.NAME)
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{begin}\n\nold\n\n{end}\n\nafter\n", encoding="utf-8")
    (tmp_path / methods_table.VALUES).parent.mkdir()
    monkeypatch.setattr("sys.argv", ["methods_table.py", *map(str, files), "--page", str(page)])
    methods_table.main()
    assert "s1: mean number of distinct networks that a search prefers:\ngdas 2.0\n" in capsys.readouterr().out
    lines = page.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("before", "after") and "old" not in lines
    darts = values.set_index(["curve", "panel"]).loc["darts"]
    rows = [line for line in lines if line.startswith("| `darts` |")]
    for row, measure in zip(rows, ("final", "best_seen"), strict=True):
        ends = [f"{100 * darts.loc[space, f'{measure}_mean']:.2f}" for space in ("s1", "nb201")]
        assert [cell.split()[0] for cell in row.strip("| ").split(" | ")[1:]] == ends
    for name in (methods_table.VALUES, methods_table.CELLS):
        assert set(pandas.read_csv(tmp_path / name)["panel"]) == {"s1", "nb201"}
