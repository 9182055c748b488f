"""Reading a group of searches: one search for each of several seeds, in one folder (docs/run_folder.md)."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Self

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError
from nasbench1shot1.ground.files import as_path, picture_name
from nasbench1shot1.ground.text import percent
from nasbench1shot1.one_shot_search.record import FIGURE, REPORTED, Run, SearchRecord, describe_regrets
from nasbench1shot1.runs.folder import CONFIG, SEEDS, read_object
from nasbench1shot1.runs.group import RunGroup, are_seeds
from nasbench1shot1.runs.opening import open_run
from nasbench1shot1.runs.own_files import of_reports
from nasbench1shot1.runs.record import listed_options
from nasbench1shot1.tables.columns import source_text

if TYPE_CHECKING:
    import pandas


def load_run(folder: str | Path) -> "SearchRecord | SearchGroup":
    """Open the folder of a search for reading: an `nb.Run`, a group of seeds (`search --seeds`), or a recorded search.

    Raises InvalidInputError if it has none of these, DamagedFileError if its description is damaged.
    """
    record = open_run(folder)
    if isinstance(record, SearchRecord | SearchGroup):
        return record
    raise InvalidInputError(
        f"'{record.folder}' holds a run of the kind '{record.KIND}', not a search: open it with nb.open_run"
    )


@dataclass(frozen=True, eq=False)
class SearchGroup(RunGroup[Run]):
    """Read-only view of the folder of a group of searches, which `nb.search_seeds` and `search --seeds` write.

    A group is a sequence of its `runs`, the searches that have begun: `group[0]` is the first one.

    Attributes:
        folder: the folder of the group.
        seeds: the seeds of the searches.
        options: the options that all searches share.
    """

    DRAWING = "nasbench1shot1.experiments.run_drawing:draw_regret"
    FILES: ClassVar[Sequence[str]] = (
        *(SEEDS, FIGURE, "seed-*.log"),
        *of_reports((FIGURE, *(f"seed-*/{name}" for name in REPORTED))),
    )
    """As in `RunRecord`, without the files of the searches."""

    seeds: tuple[int, ...]
    _options: dict[str, Any]

    def __repr__(self) -> str:
        what = f"{self.options.get('optimizer')} on {self.options.get('space')}"
        return f"SearchGroup('{self.folder}': {what}, seeds {', '.join(map(str, self.seeds))}; {self._state()})"

    def _heading(self) -> str:
        seeds = f"seeds {', '.join(map(str, self.seeds))}"
        return f"Group of searches: {self.options.get('optimizer')} on {self.options.get('space')}, {seeds}"

    def _facts(self) -> dict[str, str]:
        runs = self._started_runs()
        if len(runs) < len(self.seeds) or not all(map(self._is_complete, runs)):
            return {}
        every = [run.summary for run in runs]
        facts = {"folder": str(self.folder), "options": listed_options(runs[0].config, Run.SHOWN)}
        for split in ("test", "validation"):
            values, share = [of[f"{split}_regret"] for of in every], fmean(of[f"{split}_measured"] for of in every)
            if None in values:
                facts[f"mean {split} regret"] = "not in the table"
                continue
            facts[f"mean {split} regret"] = f"{percent(fmean(values))} ({source_text(share)}; n = {len(values)})"
            facts[f"lowest and highest {split} regret"] = f"{percent(min(values))}, {percent(max(values))}"
        return {**facts, "table": ", ".join(dict.fromkeys(str(run.config["table_id"]) for run in runs))}

    def _picture(self) -> Path | None:
        with suppress(Exception):  # a repr must not fail, whatever damaged files contain
            if sum(map(self._is_complete, self._started_runs())) == len(self.seeds):
                return self.folder / picture_name(FIGURE, self.options.get("format"))
        return None

    def _state(self) -> str:
        try:
            started = self._started_runs()  # `runs` would be cached while new runs start
            finished = [run.summary for run in started if self._is_complete(run)]
            measured = all(summary["test_measured"] for summary in finished)
            result = describe_regrets("mean test regret", [summary["test_regret"] for summary in finished], measured)
        except Exception:  # a repr must not fail, whatever damaged files contain
            return "files missing or damaged"
        return ", ".join([f"{len(finished)} of {len(self.seeds)} finished", *([result] if finished else [])])

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a group's folder for reading.

        Raises:
            InvalidInputError: the folder is not that of a group of seeds.
            DamagedFileError: seeds.json is damaged.
        """
        path = as_path(folder, "folder")
        recorded = path / SEEDS
        if not recorded.is_file():
            raise InvalidInputError(f"'{path}' is not a group of seeds: {SEEDS} is missing")
        content = read_object(recorded)
        seeds, options = content.get("seeds"), content.get("options")
        if not are_seeds(seeds) or not isinstance(options, dict):
            raise DamagedFileError(f"{recorded} is damaged: restore it, or resume its runs one by one")
        return cls(path, tuple(seeds), options)  # type: ignore[arg-type]

    def _started_runs(self) -> list[Run]:
        folders = [self.folder / f"seed-{seed}" for seed in self.seeds]
        return [Run.open(folder) for folder in folders if (folder / CONFIG).is_file()]

    @property
    def is_finished(self) -> bool:
        """Whether the searches of all seeds are finished, with as many epochs as the group now has."""
        return len(self.runs) == len(self.seeds) and all(map(self._is_complete, self.runs))

    def _is_complete(self, run: Run) -> bool:
        """Return whether a search is finished and does not become longer."""
        return run.is_finished and run.config["epochs"] == self.options.get("epochs")

    @property
    def metrics(self) -> "pandas.DataFrame":
        """A new data frame with a row for every epoch of every search: `seed`, then the columns of `Run.metrics`."""
        import pandas

        frames = [run.metrics.assign(seed=run.config["seed"]) for run in self.runs]
        if not frames:
            return Run.as_frame([]).assign(seed=pandas.Series(dtype="int64"))
        frame = pandas.concat(frames, ignore_index=True)
        return frame[["seed", *frame.columns.drop("seed")]]

    def to_frame(self) -> "pandas.DataFrame":
        """Return `metrics` as a new data frame; `attrs["config"]` has the options of the group."""
        frame = self.metrics
        frame.attrs["config"] = self.options
        return frame
