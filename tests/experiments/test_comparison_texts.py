"""The words of comparisons about their numbers: measured or predicted values, intervals of few runs, common times."""

import json
from pathlib import Path

import compared_runs as make
import pandas
import pytest

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.accuracies import compare_accuracies
from nasbench1shot1.experiments.comparison.comparing import compare_tasks


def with_flags(run: nb.Run, flags: list[bool]) -> Path:
    """Record which test values of a search are measured."""
    file = run.folder / "metrics.jsonl"
    lines = [{**line, "test_measured": flag} for line, flag in zip(run.lines, flags, strict=True)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run.folder


# Measured or predicted ------------------------------------------------------------------------------------------------


def test_tables_of_final_regrets_count_the_sources_of_final_regrets(tmp_path):
    first = with_flags(make.search(tmp_path / "first", (9, 8, 7, 6), finished=False), [True, True, True, False])
    second = with_flags(make.search(tmp_path / "second", (9, 8), optimizer="gdas", finished=False), [False, True])
    found = compare_tasks([first])
    assert list(found.results["source"]) == ["predicted"] and "predicted: darts" in repr(found)
    both = "final regrets: predicted; along the curves of searches: 75 % measured, else predicted"
    for text in (found.methods_text(), found.table().caption, nb.compare([first]).figure.caption):
        assert f"({both})" in text
    assert nb.compare([first]).get_ylabel() == "mean test regret [%] (partly predicted)"
    assert "(predicted)" in found.task_table().caption, "without anytime regrets"
    found = compare_tasks([first, second])
    assert list(found.results["source"]) == ["predicted", "measured"]
    assert "final regrets: 50 % measured, else predicted" in found.methods_text()
    assert "final regrets: 50 % measured, else predicted" in page(tmp_path, [first, second])
    row = page(tmp_path, [first]).partition("Final regrets")[2].partition("</table>")[0]
    assert "<td>predicted</td>" in row and "measured" not in row


def page(folder: Path, runs: list[Path]) -> str:
    return nb.write_report_page(runs, folder / "report.html", overwrite=True).read_text()


def test_tables_of_final_accuracies_count_final_accuracies(tmp_path):
    run = make.search(tmp_path / "run", (9, 8, 7))
    found = compare_accuracies([run]).accuracies
    found.frame["measured"] = (found.frame["split"] == "test") & (found.frame["epoch"] == 2)
    assert found.source == "17 % measured, else predicted"
    assert found.final_source == "50 % measured, else predicted" and found.final_source in found.markdown({"darts": "d"})


# Intervals ------------------------------------------------------------------------------------------------------------


def test_every_text_calls_the_range_of_few_runs_a_range(tmp_path):
    few = make.group(tmp_path / "few", [(9, 8 + n) for n in range(5)])
    enough = make.group(tmp_path / "enough", [(9, 8 + n) for n in range(6)], optimizer="gdas")
    one = make.search(tmp_path / "one", (9, 8), optimizer="snas")
    final = [run.lines[-1]["test_regret"] for run in few.runs]
    found = compare_tasks([few])
    (row,) = found.results.to_dict("records")
    for low, high in (("final_low", "final_high"), ("final_median_low", "final_median_high")):
        assert (row[low], row[high]) == (min(final), max(final))
    cases = (
        ([few, one], "mean and range", "Brackets: minimum and maximum (fewer than 6 runs)", "with minimum and maximum"),
        ([enough], "mean and 95 % confidence interval (bootstrap)", "Brackets: 95 %", "(1,000 resamples of the runs)."),
        ([few, enough], "n < 6: range", "of fewer than 6 runs: minimum", "or with the range of fewer than 6 runs."),
        ([one], "", "One run per method: no intervals.", "Each method has one run, so there are no intervals."),
    )
    for runs, band, brackets, statistics in cases:
        found, axes = compare_tasks(runs), nb.compare(runs)
        assert band in axes.figure.legends[0].get_title().get_text() and band in axes.figure.caption
        assert brackets in found.table().caption and statistics in found.methods_text()
    assert "Range [%]" in page(tmp_path, [few.folder]) and "95 %" not in page(tmp_path, [few.folder])
    assert "95 % interval; n &lt; 6: range [%]" in page(tmp_path, [few.folder, enough.folder])
