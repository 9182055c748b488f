"""Recorded runs against a table: their scores on any table, and values that differ from the recorded table's.

Nothing is searched again.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.black_box_search.record import BlackBoxStudy
from nasbench1shot1.evaluator import Judge, Score, dataset_of_regrets, with_baseline
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.ground.values import copied_property
from nasbench1shot1.one_shot_search.record import SearchRecord
from nasbench1shot1.proposers.configurations import parse_id
from nasbench1shot1.registry import search_space, table_of_run
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.evaluation import loss_of
from nasbench1shot1.tuning.record import Study
from nasbench1shot1.tuning.trials import Trial

MEASURED = ["validation_measured", "test_measured"]
ERRORS = ("table_validation_error", "table_test_error")
"""The recorded fields that come from the table."""

# Scores on a table ----------------------------------------------------------------------------------------------------


def rescore(run: SearchRecord, table: Table) -> pandas.DataFrame:
    """Return the run's metrics with accuracies and regrets from `table`; columns and units are as in `run.metrics`.

    Raises OutOfDomainError if the table lacks an architecture of the run.
    """
    return run.as_frame(rescored_lines(run, table))


def rescore_study(study: Study, table: Table) -> pandas.DataFrame:
    """Return a study's observations with the values of a table; the loss stays what the tuner saw.

    Returns:
        `Study.observations` with table errors, regrets and simulated seconds from `table`, and the columns
        `validation_measured` and `test_measured`. Diverged searches keep their empty values and are not measured.

    Raises OutOfDomainError if the table lacks an architecture of the study.
    """
    lines, flags = rescored_study_lines(study, table)
    own = study.observations.drop(columns=list(Study.FIELDS))
    return pandas.concat([Study.as_frame(lines), pandas.DataFrame(flags, columns=MEASURED), own], axis=1)


def rescored_lines(run: SearchRecord, table: Table) -> list[dict[str, Any]]:
    """Return a run's lines with the values of a table; raises the errors of `rescore`."""
    judge = Judge.from_config(run.config, run.folder / CONFIG)
    return [
        {
            **line,
            **judge.score(arch, table).fields(line["search_seconds"]),
            "other_datasets": judge.elsewhere(arch, table),
        }
        for line, arch in zip(run.lines, run.architectures, strict=True)
    ]


def rescored_study_lines(study: Study, table: Table) -> tuple[list[dict[str, Any]], list[dict[str, bool]]]:
    """Return a study's lines with the values of a table, and for each line whether its values were measured.

    Raises the errors of `rescore_study`.
    """
    texts = {line["architecture"] for line in study.lines} - {None}
    judge = Judge.from_config(study.config, study.folder / CONFIG)
    scores = {text: judge.score(Architecture.parse(text), table) for text in texts}
    lines, flags = [], []
    for line in study.lines:
        found = scores[line["architecture"]].fields(line["search_seconds"]) if line["architecture"] else {}
        flags.append({name: bool(found.get(name, False)) for name in MEASURED})
        lines.append({**line, **{name: value for name, value in found.items() if name in line}})
    return lines, flags


@dataclass(frozen=True, eq=False, repr=False)
class RescoredStudy(BlackBoxStudy):
    """A black-box study whose incumbents have the values of another table than the recorded one.

    Attributes:
        folder: the folder of the study.
        config: its config.json, with the id of that table.
        scored: its lines.
    """

    PICTURE = None

    scored: tuple[dict[str, Any], ...] = ()

    @copied_property
    def lines(self) -> list[dict[str, Any]]:
        """The lines with the values of the table."""
        return list(self.scored)


def rescore_black_box(study: BlackBoxStudy, table: Table) -> RescoredStudy:
    """Return a black-box study with the test errors and regrets of a table.

    Its clock, and the validation errors that its optimizer observed, stay as they are recorded.

    Raises OutOfDomainError if the table lacks an incumbent, or a metric of the objective.
    """
    judge = Judge.from_config(study.config, study.folder / CONFIG)
    known: dict[str, tuple[Score, dict[str, Any]]] = {}

    def scored(text: str) -> tuple[Score, dict[str, Any]]:
        if text not in known:
            arch = Architecture.parse(text)
            known[text] = judge.score(arch, table), judge.elsewhere(arch, table)
        return known[text]

    lines = []
    for line in study.lines:
        final, elsewhere = scored(line["architecture"])
        found = {"test_error": final.table_test_error, "other_datasets": elsewhere}
        found |= {name: getattr(final, name) for name in ("test_regret", "validation_regret", "test_measured")}
        scores = [scored(entry[2])[0] for entry in line["incumbents"]]
        values = [(of.table_test_error, of.test_regret) for of in scores]
        incumbents = [[*entry[:4], *own] for entry, own in zip(line["incumbents"], values, strict=True)]
        lines.append({**line, **found, "incumbents": incumbents})
    goal = study.goal.on_table(table, study.config["dataset"])
    dataset = dataset_of_regrets(table, study.config["dataset"])
    config = {**study.config, "dataset": dataset, "table_id": table.id, **goal.fields()}
    baseline = judge.baseline(search_space(study.config["space"]).name, table)
    return RescoredStudy(study.folder, with_baseline(config, baseline), tuple(lines))


# Recorded values that differ ------------------------------------------------------------------------------------------


def warn_of_other_values(runs: Sequence[SearchRecord | Study], table: Table | None = None) -> None:
    """Print one sentence for each run whose recorded errors differ from its table's; other runs are not mentioned.

    A run is only compared if the table whose id it recorded can be opened: `table`, or the table that its options name.
    """
    for run in runs:
        if said := difference(run, table):
            print_to_stderr(f"warning: {said}")


def difference(run: SearchRecord | Study, table: Table | None = None) -> str:
    """Return a sentence about the first recorded error that differs from the table's; empty if there is none.

    Arguments are as for `warn_of_other_values`.
    """
    found = table if table is not None and table.id == run.config.get("table_id") else recorded_table(run)
    if found is None:
        return ""
    for at, field, recorded, expected in _compared_values(run, found):
        if not _are_equal(recorded, expected):
            return (
                f"'{run.folder}' recorded a {field.replace('_', ' ')} of {_shown(recorded)} {at}, but the table "
                f"{found.id} has {_shown(expected)} for this architecture: the record or the table was changed"
            )
    return ""


def recorded_table(run: RunRecord) -> Table | None:
    """Return the table whose id a run recorded; None if the table of its options is missing or has another id."""
    options = run.search_config
    named = options.get("table")
    try:
        table = table_of_run(options, run.folder / CONFIG, named if isinstance(named, str) else None)
    except UserError:
        return None
    return table if table.id == options.get("table_id") else None


def _compared_values(run: SearchRecord | Study, table: Table) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield where a value is recorded, the name of its field, the recorded value and the table's."""
    judge = Judge.from_config(run.config, run.folder / CONFIG)
    known = dict[str, tuple[Architecture, dict[str, Any]]]()
    for line in run.lines:
        if (text := line["architecture"]) is None:  # a diverged search
            continue
        if text not in known:
            try:
                arch = Architecture.parse(text)
                found = judge.score(arch, table)
            except UserError:  # reported where the line is used
                continue
            known[text] = arch, {field: getattr(found, field) for field in ERRORS}
        arch, errors = known[text]
        at = f"in observation {line['number']}" if isinstance(run, Study) else f"after epoch {line['epoch']}"
        for field, expected in errors.items():
            yield at, field, line[field], expected
        if isinstance(run, Study):
            identity = line["configuration_id"]
            trial = Trial(parse_id(identity), run.configuration(identity), line["budget"])
            if not math.isnan(expected := loss_of(run, table, arch, trial)):
                yield at, "loss", line["loss"], expected


def _are_equal(recorded: float | None, expected: float | None) -> bool:
    """Return whether two values are equal but for rounding on other machines."""
    if recorded is None or expected is None:
        return recorded is expected
    return math.isclose(recorded, expected, rel_tol=1e-9, abs_tol=1e-9)


def _shown(value: float | None) -> str:
    return "no value" if value is None else f"{100 * value:.4g} %"
