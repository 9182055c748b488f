"""Searches whose table lacks architectures or all test accuracies: what screens, pictures and comparisons state."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import compared_runs as make
import numpy as np
import pandas
import synthetic_study as synthetic
from refusals import refuses

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.comparison.drawing import mean_label
from nasbench1shot1.experiments.rescoring import rescore, rescored_lines
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.captions import table_text
from nasbench1shot1.one_shot_search.regret_curve import regret_figure
from nasbench1shot1.one_shot_search.screen import format_regret
from nasbench1shot1.tables.table import Table, table_for

SPACE = nb.search_space("s1")


def table_of(ranks: Sequence[int], folder: Path, **columns: Any) -> Table:
    """A table of the architectures of s1 with these ranks (`compared_runs.search`), saved and opened as by a search."""
    names = [str(synthetic.architectures("s1")[rank]) for rank in ranks]
    accuracies = np.linspace(0.8, 0.9, len(names))
    values: dict[str, Any] = {"validation_accuracy": accuracies, "test_accuracy": accuracies - 0.01, **columns}
    frame = pandas.DataFrame({"architecture": names, "epochs": 108, "training_time": 9.0, **values})
    nb.table_from_frame(frame, space=SPACE, reference="present", dataset="cifar10").save(folder)
    return table_for(SPACE, folder)


def recorded(folder: Path, ranks: Sequence[int], table: Table) -> nb.Run:
    """An unfinished search with the values of a table that it does not name as incomplete."""
    run = make.search(folder, ranks, finished=False, table=str(table.folder))
    make.with_facts(folder, table_id=table.id)
    lines = rescored_lines(run, table)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return nb.load_run(folder)


def test_pictures_on_a_partial_table_refer_to_its_architectures(tmp_path: Path) -> None:
    table = table_of((1, 2, 7, 8), tmp_path / "table")
    run = recorded(tmp_path / "run", (2, 9), table)
    figure = regret_figure([run], [run.metrics], table)
    mean = table.mean_regret("s1")
    labels = [line.get_label() for line in figure.axes[0].get_lines()]
    assert f"mean over the networks in the table ({percent(mean)})" in labels
    assert not any("over the space" in label for label in labels)
    assert f"table {table.id}; 1 of 2 architectures is not in it" in figure.caption
    assert "has 4 of the 2,685 cells of s1: regrets refer to the best of these" in figure.caption
    assert "2 of 2 architectures are not in it" in regret_figure(
        [run], [rescore(run, other := table_of((1, 7), tmp_path / "other"))], other
    ).caption  # fmt: skip
    whole = make.search(tmp_path / "whole", (2, 9))
    figure = regret_figure([whole], [whole.metrics], embedded := nb.load_table())
    assert f"mean over the space ({percent(embedded.mean_regret('s1'))})" in [
        line.get_label() for line in figure.axes[0].get_lines()
    ]
    assert "best of these" not in figure.caption and "not in it" not in figure.caption


def test_a_search_whose_last_architecture_is_not_in_the_table_is_compared_and_reported(tmp_path: Path) -> None:
    table = table_of((1, 2, 7, 8), tmp_path / "table")
    run = recorded(tmp_path / "run", (1, 2, 9), table)
    assert run.config["reference"] is None and run.lines[-1]["test_regret"] is None
    found = compare_runs([run], over="epochs")
    (contender,) = found.contenders
    assert contender.missing == 1 and np.isnan(contender.final).all()
    assert found.curves["darts"].centre.tolist()[:2] == [line["test_regret"] for line in run.lines[:2]]
    assert mean_label(found).startswith("mean over the networks in the table (")
    page = nb.write_report_page(run, tmp_path / "report.html").read_text()
    assert "Not in the table: 1 of 1 result of darts." in page
    assert "has 4 of the 2,685 cells of s1: regrets refer to the best of these" in page
    assert "mean over the networks in the table" in page
    smaller = table_of((1, 7), tmp_path / "smaller")
    other = make.search(tmp_path / "whole", (1, 2))
    assert compare_runs([other], over="epochs", table=smaller).contenders[0].missing == 1


def test_results_that_a_complete_table_lacks_are_still_refused(tmp_path: Path) -> None:
    run = make.search(tmp_path / "run", (1, 2), finished=False)
    lines = [{**line, "test_regret": None} for line in run.lines]
    (run.folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with refuses(nb.InvalidInputError, run.folder, "test regrets", options="table"):
        compare_runs([nb.load_run(run.folder)], over="epochs")


def test_nothing_is_called_predicted_if_only_test_accuracies_are_unknown(tmp_path: Path) -> None:
    table = table_of((1, 2), tmp_path / "table", test_accuracy=np.nan, train_accuracy=0.9)
    run = recorded(tmp_path / "run", (2, 1), table)
    figure = regret_figure([run], [run.metrics], table)
    assert "predicted" not in figure.caption and table.id in figure.caption
    assert table_text([run.metrics], table.id) == f"table {table.id}"
    assert format_regret(run.lines[-1], "test") == "– (its test accuracy is not in the table)"
    assert format_regret(run.lines[-1], "validation").endswith(" % (measured)")
    outside = recorded(tmp_path / "outside", (2, 9), table)
    assert format_regret(outside.lines[-1], "test") == "– (not in the table)"
    predicted = make.search(tmp_path / "predicted", (2, 1))
    figure = regret_figure([predicted], [predicted.metrics], nb.load_table())
    assert "values called predicted are estimates" in figure.caption
