"""The table of all methods in the documentation, which a script writes from the values of studies."""

import methods_table
import pandas
from page_section import marks


def test_the_page_shows_the_shipped_values():
    values = pandas.read_csv(methods_table.PAGE.parent / methods_table.VALUES)
    begin, end = marks(methods_table.NAME)
    shown = methods_table.PAGE.read_text(encoding="utf-8").split(begin)[1].split(end)[0]
    assert shown.split("\n")[2:-2] == methods_table.section(values)


def test_a_section_is_replaced_and_values_of_all_files_are_kept(tmp_path, monkeypatch):
    values = pandas.read_csv(methods_table.PAGE.parent / methods_table.VALUES)
    files = [tmp_path / f"{space}.csv" for space in ("s1", "nb201")]
    for file in files:
        values[values["panel"] == file.stem].to_csv(file, index=False)
    begin, end = marks(methods_table.NAME)
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{begin}\n\nold\n\n{end}\n\nafter\n", encoding="utf-8")
    (tmp_path / methods_table.VALUES).parent.mkdir()
    monkeypatch.setattr("sys.argv", ["methods_table.py", *map(str, files), "--page", str(page)])
    methods_table.main()
    lines = page.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("before", "after") and "old" not in lines
    darts = values.set_index(["curve", "panel"]).loc["darts"]
    rows = [line for line in lines if line.startswith("| `darts` |")]
    for row, measure in zip(rows, ("final", "best_seen"), strict=True):
        ends = [f"{100 * darts.loc[space, f'{measure}_mean']:.2f}" for space in ("s1", "nb201")]
        assert [cell.split()[0] for cell in row.strip("| ").split(" | ")[1:]] == ends
    assert set(pandas.read_csv(tmp_path / methods_table.VALUES)["panel"]) == {"s1", "nb201"}
