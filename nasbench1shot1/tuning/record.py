"""The record of a study: its configurations, and an observation for each search that ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.evaluator import BOUNDS, Baseline, Judge, recorded_seconds
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.text import counted, percent
from nasbench1shot1.ground.values import copied_property
from nasbench1shot1.one_shot_search.options import FACTS as SEARCH_FACTS
from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.one_shot_search.record import Run, open_search, with_source
from nasbench1shot1.proposers.configurations import ConfigurationId, format_id, parse_id
from nasbench1shot1.runs.folder import CONFIG, CONFIG_SPACE, SUBMISSIONS, damaged_file_error
from nasbench1shot1.runs.options import recorded_options
from nasbench1shot1.runs.record import ObjectOf, RunRecord
from nasbench1shot1.runs.writer import RunWriter
from nasbench1shot1.tuning.config_spaces import NOT_TUNABLE, read_config_space
from nasbench1shot1.tuning.options import SET_BY_THE_STUDY, TuningOptions
from nasbench1shot1.tuning.submissions import Submission, read_submissions

if TYPE_CHECKING:
    import pandas
    from ConfigSpace import ConfigurationSpace

    from nasbench1shot1.tables.table import Table

TRAJECTORY, CONFIGS, RESULTS = "trajectory.png", "configs.json", "results.json"
SEARCH_OPTIONS = "search_options"
"""Section of config.json: the options of every search, except its hyperparameters."""
FIELDS: dict[str, Any] = {
    "number": int,
    "configuration_id": str,
    "budget": int,
    "model_based": bool,
    "loss": float | None,
    "failure": str | None,
    "architecture": str | None,
    "table_validation_error": float | None,
    "table_test_error": float | None,
    "validation_regret": float | None,
    "test_regret": float | None,
    "search_seconds": float | None,
    "simulated_seconds": float | None,
    "submitted": float,
    "started": float,
    "finished": float,
    "attempts": int,
    "worker": str,
    "folder": str,
}
"""Fields of a line of metrics.jsonl, one per observation; errors are fractions, times seconds (docs/tuning.md)."""
FROM_CONFIG = ("tuner", "optimizer", "space", "seed", "iterations", "min_budget", "max_budget", "eta")
OF_AN_OBSERVATION = (
    "number", "configuration_id", "budget", "loss", "architecture", "table_validation_error", "table_test_error",
    "validation_regret", "test_regret", "folder",
)  # fmt: skip
BEST = ObjectOf(
    fields=(*((name, FIELDS[name]) for name in OF_AN_OBSERVATION), ("loss", float), ("configuration", dict)),
    is_optional=True,
)
"""The type of an observation in summary.json; null if all searches diverged."""
MEASURED = ("validation_measured", "test_measured")
"""Further fields of an observation in summary.json: whether the table's values are measured."""


@dataclass(frozen=True, eq=False, repr=False)
class Study(RunRecord):
    """The record of a study, read from its folder.

    Attributes:
        folder: the folder of the study.
        config: the fields of config.json, flat: the options of the study, `search_options`, and facts about the data.
    """

    KIND, COMMAND, FIELDS, OPTIONS = "tuning", "tune", FIELDS, TuningOptions
    FACTS = {SEARCH_OPTIONS: dict, **SEARCH_FACTS}  # noqa: RUF012

    SUMMARISED = {"observations": int, "diverged": int, "best": BEST, "best_at_maximum": BEST}  # noqa: RUF012
    PICTURE, HAS_CHECKPOINTS = TRAJECTORY, False
    FILES = (CONFIG_SPACE, SUBMISSIONS, CONFIGS, RESULTS, TRAJECTORY)
    DRAWING = "nasbench1shot1.experiments.run_drawing:draw_regret"
    SHOWN = ("tuner", "iterations", "min_budget", "max_budget", "eta")

    def check_config(self) -> None:
        """See `RunRecord`; the options that all searches share must be readable, too, except hyperparameters."""
        super().check_config()
        tunable = [field for field in fields(SearchConfig) if field.name not in NOT_TUNABLE - {*SET_BY_THE_STUDY}]
        usual = {field.name: field.default for field in tunable}
        recorded_options(SearchConfig, {**usual, **self.shared_options}, self.folder / CONFIG)

    def _picture_format(self) -> Any:
        return self.shared_options["format"]

    def _subject(self) -> str:
        config = self.config
        what = f"{config['optimizer']} on {config['space']}, {Path(config['config_space']).stem}, {config['tuner']}"
        return f"{what}, seed {config['seed']}"

    def _progress(self, recorded: int) -> str:
        return f"{recorded:,} of {counted(self.options.brackets.planned, 'search')}"

    def _result(self, summary: Mapping[str, Any]) -> str:
        found = summary["best"]
        return f"lowest {self.guide} error {percent(found['loss'])}" if found else "all searches diverged"

    def _numbers(self, summary: Mapping[str, Any]) -> dict[str, str]:
        if (found := summary["best"]) is None:
            return {"result": self._result(summary)}
        return {
            f"lowest {self.guide} error": percent(found["loss"]),
            "its budget": counted(found["budget"], "epoch"),
            "its configuration": ", ".join(f"{name} {value}" for name, value in found["configuration"].items()),
            **{f"its {split} regret": self._regret(split, found) for split in ("test", "validation")},
            "diverged": counted(summary["diverged"], "search"),
        }

    def _regret(self, split: str, observation: Mapping[str, Any]) -> str:
        """Return the regret of an observation, and whether its search recorded it as measured or predicted."""
        try:
            line = self.run(observation["number"]).lines[-1]
        except (UserError, IndexError):  # the folders of searches may be deleted
            return f"{percent(observation[f'{split}_regret'])} (source unknown: its search is missing)"
        return with_source(observation[f"{split}_regret"], line[f"{split}_measured"])

    @property
    def guide(self) -> str:
        """The images whose error the study minimizes: "validation", or "test" if its option `objective` says so."""
        return str(self.config.get("objective") or "validation_accuracy").removesuffix("_accuracy")

    @property
    def guide_sentence(self) -> str:
        """A sentence about an objective other than validation error, for screens and captions; else empty."""
        return "" if self.guide == "validation" else f"Test values guided the study (objective: {self.guide} error)."

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a sentence if lines are not valid, else None.

        Valid lines are numbered from 0, observe each configuration once per budget, and have a loss or a failure.
        """
        seen = set[tuple[str, int]]()
        for number, line in enumerate(lines):
            trial = (line["configuration_id"], line["budget"])
            if line["number"] != number:
                return f"line {number + 1} does not have the number {number}"
            if (line["loss"] is None) == (line["failure"] is None):
                return f"line {number + 1} has both a loss and a failure, or neither"
            if trial in seen or not _is_id(line["configuration_id"]):
                return f"line {number + 1} observes {trial[0]} at {trial[1]} epochs, which is recorded or impossible"
            seen.add(trial)
        return None

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether there are as many lines as the summary counts."""
        return len(lines) == self.summary.get("observations")

    @cached_property
    def baseline(self) -> Baseline | None:
        """The bounds of the searches and their baseline; None without bounds."""
        return Baseline.from_config(self.config, self.folder / CONFIG)

    @cached_property
    def options(self) -> TuningOptions:
        """The options of the study."""
        return recorded_options(TuningOptions, self.config, self.folder / CONFIG)

    @property
    def shared_options(self) -> dict[str, Any]:
        """The options of every search, except its hyperparameters, its epochs and the options of the study."""
        shared: dict[str, Any] = self.config[SEARCH_OPTIONS]
        return shared

    @property
    def search_config(self) -> dict[str, Any]:
        """The options of the study and of its searches; no option of one has the name of an option of the other."""
        own = {name: value for name, value in self.config.items() if name != SEARCH_OPTIONS}
        return {**own, **self.shared_options}

    @property
    def config_space(self) -> "ConfigurationSpace":
        """The hyperparameters and their ranges, as a new ConfigSpace space."""
        return deepcopy(self._config_space)

    @cached_property
    def _config_space(self) -> "ConfigurationSpace":
        return read_config_space(self.folder / CONFIG_SPACE)

    @property
    def submissions(self) -> list[Submission]:
        """All submitted trials, in order, as new objects; raises DamagedFileError if their record is damaged."""
        return [replace(of, configuration=dict(of.configuration)) for of in self._submissions]

    @cached_property
    def _submissions(self) -> list[Submission]:
        return read_submissions(self.folder / SUBMISSIONS)

    @copied_property
    def configurations(self) -> dict[str, dict[str, Any]]:
        """The active hyperparameters of every proposed configuration, by its id, in new dictionaries.

        Configurations are in the order of their proposal.

        Raises DamagedFileError if the record of the submissions is damaged.
        """
        return {format_id(of.configuration_id): dict(of.configuration) for of in self.submissions}

    def configuration(self, identity: str) -> dict[str, Any]:
        """Return the active hyperparameters of a configuration; raises DamagedFileError if it is not recorded."""
        return self._configuration_in(self.configurations, identity)

    def _configuration_in(self, known: Mapping[str, dict[str, Any]], identity: str) -> dict[str, Any]:
        if identity not in known:
            raise damaged_file_error(self.folder / SUBMISSIONS, f"it lacks the configuration {identity}")
        return known[identity]

    @property
    def observations(self) -> "pandas.DataFrame":
        """A new data frame with a row per observation: the columns `FIELDS`, then one per hyperparameter.

        The hyperparameters' columns are NaN where a hyperparameter is not active.
        """
        import pandas

        frame, names, known = self.metrics, list(self._config_space), self.configurations
        rows = [self._configuration_in(known, identity) for identity in frame["configuration_id"]]
        return pandas.concat([frame, pandas.DataFrame(rows, columns=names, index=frame.index)], axis=1)

    def to_frame(self) -> "pandas.DataFrame":
        """Return `observations`; `attrs["config"]` has the options."""
        return self._with_options(self.observations)

    def run(self, number: int) -> Run:
        """Open the search of an observation; raises InvalidInputError if it diverged before its first epoch."""
        return open_search(self.folder / self.lines[number]["folder"])


def _is_id(text: str) -> bool:
    try:
        return format_id(parse_id(text)) == text
    except ValueError:
        return False


class StudyWriter(RunWriter["Study"]):
    """Writes a study's folder, but leaves the folders of searches alone, which workers may be writing."""

    def unfinished_files(self) -> Iterator[Path]:
        """Yield the files that a killed process left unfinished."""
        return (path for path in self.folder.glob(".*.part") if path.is_file())


def size_text(shared: Mapping[str, Any]) -> str:
    """Return the size of a study's supernets in words; `shared` are its options that are not tuned."""
    sizes = [(shared.get(name), noun) for name, noun in (("channels", "channel"), ("cells", "cell"))]
    return " × ".join(f"tuned {noun}s" if number is None else counted(number, noun) for number, noun in sizes)


def folder_of(configuration_id: ConfigurationId, epochs: int) -> Path:
    """Return the folder of the search of a configuration at a number of epochs, relative to the study's folder."""
    return Path("runs") / format_id(configuration_id) / f"epochs-{epochs:03d}"


def best(lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the observation with the lowest loss (ties: the first); None if all searches diverged."""
    return min((line for line in lines if line["loss"] is not None), key=lambda line: line["loss"], default=None)


def are_timed(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the table has the training times of all architectures that were found."""
    return all(line["simulated_seconds"] is not None for line in lines if line["architecture"] is not None)


def costs_of(lines: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the cost of each observation in seconds: simulated time, if the table has all training times.

    The cost of a diverged search is the wall-clock time from its start to its end. If the table lacks a training time
    (`are_timed`), all costs are wall-clock times, because the two clocks cannot be added.
    """
    is_timed = are_timed(lines)
    seconds = [line["simulated_seconds"] if is_timed else None for line in lines]
    return [
        float(line["finished"] - line["started"] if cost is None else cost)
        for line, cost in zip(lines, seconds, strict=True)
    ]


def measured_values(study: Study, line: Mapping[str, Any], table: "Table") -> dict[str, bool]:
    """Return for an observation whether its values in a table are measured: the fields `MEASURED`.

    The fields of a diverged search are False. Raises OutOfDomainError if the table lacks the architecture.
    """
    if line["architecture"] is None:
        return dict.fromkeys(MEASURED, False)
    judge = Judge.from_config(study.config, study.folder / CONFIG)
    found = judge.score(Architecture.parse(line["architecture"]), table)
    return {name: getattr(found, name) for name in MEASURED}


def summarise(study: Study, lines: Sequence[Mapping[str, Any]], table: "Table") -> dict[str, Any]:
    """Return the summary of a study whose searches have all ended.

    `best` is the observation with the lowest loss over all budgets; `equally_good` counts the observations with that
    loss. `best_at_maximum` is the observation with the lowest loss at the largest budget with a finite loss. `best` and
    `best_at_maximum` are null if all searches diverged. `simulated_seconds` is null if the table lacks training times.

    Args:
        study: the study.
        lines: its observations, with the errors and regrets of a table.
        table: that table.
    """
    found = best(lines)
    lowest = found["loss"] if found else None
    largest = max((line["budget"] for line in lines if line["loss"] is not None), default=None)
    return {
        **{name: study.config[name] for name in FROM_CONFIG},
        **({"objective": study.config["objective"]} if study.config.get("objective") else {}),
        "table_id": table.id,
        **({BOUNDS: study.config[BOUNDS]} if BOUNDS in study.config else {}),
        "observations": len(lines),
        "diverged": sum(line["loss"] is None for line in lines),
        "model_based": sum(line["model_based"] for line in lines),
        "search_seconds": recorded_seconds(sum(line["search_seconds"] or 0.0 for line in lines)),
        "simulated_seconds": recorded_seconds(sum(costs_of(lines))) if are_timed(lines) else None,
        "seconds": max((line["finished"] for line in lines), default=0.0),
        "equally_good": sum(line["loss"] is not None and line["loss"] == lowest for line in lines),
        "best": _describe(study, found, table),
        "best_at_maximum": _describe(study, best([line for line in lines if line["budget"] == largest]), table),
    }


def _describe(study: Study, line: Mapping[str, Any] | None, table: "Table") -> dict[str, Any] | None:
    if line is None:
        return None
    configuration = study.configuration(line["configuration_id"])
    found = {name: line[name] for name in OF_AN_OBSERVATION}
    return {**found, **measured_values(study, line, table), "configuration": configuration}
