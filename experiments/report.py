"""Score a finished run anew, on the same table or another one, without searching again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas

from nasbench1shot1.errors import InvalidInputError
from nasbench1shot1.evaluator import score
from nasbench1shot1.experiments.anytime_regret import regret_figure, save_figure
from nasbench1shot1.files import replacing, write_json
from nasbench1shot1.one_shot_search.record import FIGURE, Run, as_frame
from nasbench1shot1.one_shot_search.summary import summarise
from nasbench1shot1.runs.folder import CONFIG, METRICS, SUMMARY, as_json_line
from nasbench1shot1.tables.table import Table


def rescore(run: Run, table: Table) -> pandas.DataFrame:
    """The run's metrics with every value of the table looked up in `table`; columns and units as in `Run.metrics`.

    Raises OutOfDomainError if the table lacks an architecture of the run.
    """
    return as_frame(_lines(run, table))


def write_report(run: Run, table: Table, out: Path) -> dict[str, Any]:
    """Write metrics.jsonl, summary.json and regret.png of a run scored on `table` into a folder; return the summary.

    Raises InvalidInputError if the folder holds a run, OutOfDomainError if the table lacks an architecture.
    """
    if (out / CONFIG).exists():
        raise InvalidInputError(f"{out} is a run, and a report never changes one: choose another --out")
    lines = _lines(run, table)
    frame = as_frame(lines)
    with replacing(out / METRICS) as file:
        file.write("".join(as_json_line(line) for line in lines).encode())
    summary = summarise(run.config, lines, table.id)
    write_json(out / SUMMARY, summary)
    save_figure(regret_figure([run], [frame], table.id, table.fidelity()), out / FIGURE)
    return summary


def write_group_report(runs: Sequence[Run], table: Table, out: Path) -> list[dict[str, Any]]:
    """`write_report` of the runs of several seeds, each into `out/<run>`, and one regret.png of all of them."""
    summaries = [write_report(run, table, out / run.folder.name) for run in runs]
    save_figure(regret_figure(runs, [rescore(run, table) for run in runs], table.id, table.fidelity()), out / FIGURE)
    return summaries


def _lines(run: Run, table: Table) -> list[dict[str, Any]]:
    return [
        {**line, **score(arch, table).fields(line["search_seconds"])}
        for line, arch in zip(run.lines, run.architectures, strict=True)
    ]
