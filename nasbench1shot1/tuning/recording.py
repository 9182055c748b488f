"""The record of each observation of a study: the engine's report, and the table's values of the architecture."""

from collections.abc import Mapping, Sequence
from typing import Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.evaluator import score
from nasbench1shot1.proposers.configurations import format_id, parse_id
from nasbench1shot1.runs.folder import METRICS, read_lines
from nasbench1shot1.tables.table import Table
from nasbench1shot1.tuning.engine.interfaces import Observation, Progress, RecordedObservation, Trial
from nasbench1shot1.tuning.export import write_hpbandster_files
from nasbench1shot1.tuning.record import Study, StudyWriter, folder_of
from nasbench1shot1.tuning.screen import StudyScreen

SCORED = ("table_validation_error", "table_test_error", "validation_regret", "test_regret")


class StudyRecorder:
    """Writes the observations of a study and reports them on the screen; an `engine.Recorder`.

    Test errors come from the table when a line is written. No outcome contains them, and the tuner sees only outcomes.
    """

    def __init__(
        self, writer: StudyWriter, lines: Sequence[Mapping[str, Any]], table: Table, screen: StudyScreen
    ) -> None:
        self._writer, self._before, self._table, self._screen = writer, list(lines), table, screen

    def observations(self) -> Sequence[RecordedObservation]:
        """Return what was observed in earlier sessions, in order of registration."""
        return [
            RecordedObservation(parse_id(line["configuration_id"]), line["budget"], line["loss"], line["finished"])
            for line in self._before
        ]

    def steps_done(self, trial: Trial) -> int:
        """Return the number of recorded epochs of a trial's search."""
        return len(read_lines(self._writer.folder / folder_of(trial.configuration_id, trial.epochs) / METRICS))

    def record_observation(self, observation: Observation) -> None:
        """Append the line of an observation to metrics.jsonl, and bring hpbandster's files up to date."""
        study = Study.open(self._writer.folder)
        line = observation_line(observation, self._table, study.config.get("dataset"))
        self._writer.append_line(line)
        write_hpbandster_files(study)
        self._screen.show_observation(line)

    def progress(self, state: Progress) -> None:
        """Show the state of the study."""
        self._screen.progress(state)


def recorded_lines(writer: StudyWriter) -> list[dict[str, Any]]:
    """Return the observations of earlier sessions; remove the unfinished last line of a killed process.

    Raises DamagedFileError if a complete line is damaged.
    """
    writer.keep_complete_lines()
    return Study.read_lines(writer.folder)


def observation_line(observation: Observation, table: Table, dataset: str | None = None) -> dict[str, Any]:
    """Return the line of metrics.jsonl for an observation; fields as in `record.FIELDS`.

    `dataset` is the data set of the study's images. Default: the data set of the table's first objective.
    """
    trial, outcome = observation.trial, observation.outcome
    return {
        "number": observation.number,
        "configuration_id": format_id(trial.configuration_id),
        "budget": trial.epochs,
        "model_based": observation.model_based,
        "loss": outcome.loss,
        "failure": outcome.failure,
        **_score_fields(outcome.values, table, dataset, observation.finished - observation.started),
        "submitted": observation.submitted,
        "started": observation.started,
        "finished": observation.finished,
        "attempts": trial.attempt,
        "worker": observation.worker,
        "folder": folder_of(trial.configuration_id, trial.epochs).as_posix(),
    }


def _score_fields(values: Mapping[str, Any], table: Table, dataset: str | None, elapsed: float) -> dict[str, Any]:
    """Return the architecture, its values in the table, and the times; a diverged search has only times.

    On the simulated clock, a diverged search takes its elapsed wall-clock time, because its last epoch is not recorded.
    """
    architecture, seconds = values.get("architecture"), values["search_seconds"]
    if architecture is None:
        return {"architecture": None, **dict.fromkeys(SCORED), "search_seconds": seconds, "simulated_seconds": elapsed}
    found = score(Architecture.parse(architecture), table, dataset).fields(seconds)
    names = (*SCORED, "search_seconds", "simulated_seconds")
    return {"architecture": architecture, **{name: found[name] for name in names}}
