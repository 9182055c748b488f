"""The record of a ranking: errors and losses of its architectures, and the correlations with true errors."""

import io
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.experiments.correlation.options import RankingOptions
from nasbench1shot1.experiments.correlation.reliability import COLUMNS as CURVE_COLUMNS
from nasbench1shot1.experiments.correlation.truth import ALL, rows_at, rows_of_all
from nasbench1shot1.ground.csv_floats import exact_floats
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import blocked_error, read_bytes, read_npz, sha256
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.record import Run, open_search
from nasbench1shot1.registry import check_trusted, one_shot, search_space
from nasbench1shot1.runs.folder import CONFIG, SUMMARY, damaged_file_error, read_description
from nasbench1shot1.runs.options import recorded_options
from nasbench1shot1.runs.record import ObjectOf, RunRecord, has_type
from nasbench1shot1.space import OneShotSpace

if TYPE_CHECKING:
    import pandas

CORRELATIONS, RELIABILITY, SCATTER, BY_EPOCH = "correlations.csv", "reliability.csv", "scatter.png", "ranking.png"
FIELDS: dict[str, Any] = {
    "epoch": int,
    "architectures": int,
    "images": int,
    "mean_error": float,
    "mean_loss": float,
    "predicted_best": str,
    "scores_sha256": str,
    "seconds": float,
    "blocks_sha256": str,
}
"""Fields of a line of metrics.jsonl, one line per evaluated epoch; errors in fractions, losses in nats, times in s."""
FACTS = {
    "run": str,
    "run_seed": int,
    "optimizer": str,
    "space": str,
    "space_id": str,
    "table_id": str,
    "images_sha256": str,
    "image_count": int,
    "evaluated_epochs": list,
    "weights_sha256": dict,
}
"""Fields of config.json besides the options, with their types: the data of the ranking."""
SUMMARISED: dict[str, Any] = {
    "epochs": ObjectOf(ObjectOf(ObjectOf(fields=(("value", float), ("low", float), ("high", float), ("n", int))))),
    "reliability": ObjectOf(ObjectOf(fields=(("epoch", int), ("images_per_half", float), ("spearman", float)))),
    "undefined": list,
    "budget": int,
    "split": str,
    "table_id": str,
    "measured": float,
    "fidelity": str,
}
"""Fields of summary.json that readers use, with their types."""
CORRELATION_COLUMNS = ("epoch", "budget", "split", "criterion", "scope", "value", "low", "high", "n", "measured")
"""The columns of correlations.csv (docs/ranking.md)."""
WITHOUT_ROWS = ("epoch", "predictor")
"""The columns of reliability.csv if no epoch has enough images."""
RELIABILITY_COLUMNS = (*WITHOUT_ROWS, *CURVE_COLUMNS)
"""The columns of reliability.csv (docs/ranking.md)."""
TEXTS = ("split", "criterion", "scope", "predictor")
"""The columns of these files that are not numbers."""
CSV_PRECISION = 1e-5
"""Largest relative difference between a number in these files and the same number in summary.json."""
AUTO_IMAGES = "auto_images"
"""Field of config.json and summary.json for the option `images="auto"`: `expectation.AutoImages.as_dict`."""
DATASET = "dataset"
"""Field of summary.json for the data set of the true errors; rankings of earlier versions lack it."""
COLUMNS = {"numbers": np.int64, "errors": np.float32, "losses": np.float32, "image_rows": np.int64}
BLOCK_COLUMNS = {"errors": np.float32, "losses": np.float32}
"""Arrays of the two files of an epoch, with their types."""


@dataclass(frozen=True, eq=False)
class EpochScores:
    """Errors and losses of A architectures under the shared weights of one epoch, on N images.

    Attributes:
        numbers: int64 (A,), ascending: `space[number]` is the architecture.
        errors: float32 (A,), fractions.
        losses: float32 (A,), mean cross-entropy in nats.
        image_rows: int64 (N,), rows of the image set.
    """

    numbers: NDArray[np.int64]
    errors: NDArray[np.float32]
    losses: NDArray[np.float32]
    image_rows: NDArray[np.int64]

    def subset(self, mask: NDArray[np.bool_]) -> "EpochScores":
        """Return the scores of some of the architectures, by a mask (A,)."""
        return EpochScores(self.numbers[mask], self.errors[mask], self.losses[mask], self.image_rows)

    @property
    def exact_errors(self) -> NDArray[np.float64]:
        """float64 (A,): the errors without the rounding of float32."""
        return exact_errors(self.errors, len(self.image_rows))


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(RunRecord):
    """Read-only view of the folder of a ranking of a run's architectures by shared weights.

    Attributes:
        folder: the folder of the ranking.
        config: all resolved options, and facts about the data.
    """

    KIND, COMMAND, FIELDS, OPTIONS, FACTS = "ranking", "correlate", FIELDS, RankingOptions, FACTS

    SUMMARISED = SUMMARISED
    PICTURE = SCATTER
    FILES = ("epoch-*.npz", "blocks-*.npz", CORRELATIONS, RELIABILITY, SCATTER, BY_EPOCH)
    DRAWING = "nasbench1shot1.experiments.correlation.drawing:draw_ranking"

    def check_config(self) -> None:
        """See `RunRecord`; the epochs and the SHA-256 of their weights must be readable, too."""
        super().check_config()
        epochs, weights = self.config["evaluated_epochs"], self.config["weights_sha256"]
        are_epochs = epochs and all(type(epoch) is int and epoch >= 0 for epoch in epochs)
        if not are_epochs or epochs != sorted(set(epochs)):
            raise damaged_file_error(self.folder / CONFIG, "its evaluated_epochs is impossible")
        if list(weights) != list(map(str, epochs)) or not ObjectOf(str | None).holds(weights):
            raise damaged_file_error(self.folder / CONFIG, "its weights_sha256 is impossible")

    @property
    def searched_job(self) -> str:
        """The job name of the search whose weights a figure's ranking evaluates, wherever the figure's folder is."""
        return "/".join(Path(self.config["run"]).parts[-3:])

    def _subject(self) -> str:
        epochs = self.config["evaluated_epochs"]
        word = "epoch" if len(epochs) == 1 else "epochs"
        return f"{self.config['optimizer']} on {self.config['space']}, {word} {', '.join(map(str, epochs))}"

    def _progress(self, recorded: int) -> str:
        return f"{recorded} of {counted(len(self.config['evaluated_epochs']), 'epoch')}"

    def _result(self, summary: Mapping[str, Any]) -> str:
        last = self.config["evaluated_epochs"][-1]
        if str(last) not in summary["epochs"]:
            raise damaged_file_error(self.folder / SUMMARY, f"it lacks epoch {last}")
        found = summary["epochs"][str(last)].get("spearman_error")
        value = f"{found['value']:.3f}" if found else "undefined"
        return f"Spearman correlation {value} after epoch {last}"

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a sentence if the epochs of the lines do not increase, else None."""
        ascend = all(a["epoch"] < b["epoch"] for a, b in pairwise(lines))
        return None if ascend else "the epochs of its lines do not increase"

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether there is a line for every epoch to evaluate."""
        return bool([line["epoch"] for line in lines] == self.config["evaluated_epochs"])

    @cached_property
    def options(self) -> RankingOptions:
        """The recorded options."""
        return recorded_options(RankingOptions, self.config, self.folder / CONFIG)

    @cached_property
    def run(self) -> Run:
        """The search that was ranked: at its recorded path or, if it was moved, at its place beside the ranking.

        This is the folder that holds the ranking or, in the folder of a figure, the folder of `searched_job`. Raises
        InvalidInputError if none of them is a search.
        """
        recorded, own = Path(self.config["run"]), self.folder.absolute()
        moved = [own.parent, *(figure / self.searched_job for figure in own.parents[2:3])]
        if not recorded.exists():
            recorded = next(filter(_is_search, moved), recorded)
        return open_search(recorded)

    @cached_property
    def space(self) -> OneShotSpace:
        """The search space; raises InvalidInputError if it belongs to a module that is not imported."""
        check_trusted("search_spaces", "space", self.config["space"], self.folder / CONFIG)
        return one_shot(search_space(self.config["space"]))

    @property
    def dataset(self) -> str | None:
        """The data set of the true errors of a finished ranking; None if it is unknown.

        Raises UserError for a ranking that is not finished, and DamagedFileError if the field is damaged.
        """
        found = self.summary.get(DATASET)
        if not has_type(found, str | None):
            raise damaged_file_error(self.folder / SUMMARY, f"its {DATASET} is impossible")
        return cast(str | None, found)

    @property
    def scored_epochs(self) -> list[int]:
        """The epochs evaluated so far: all of `evaluated_epochs` if the ranking is finished."""
        done = {line["epoch"] for line in self.lines}
        return [epoch for epoch in self.config["evaluated_epochs"] if epoch in done]

    def scores(self, epoch: int) -> EpochScores:
        """Read the errors and losses of an evaluated epoch; raises DamagedFileError if its file is damaged."""
        arrays = self._arrays(scores_path(self.folder, epoch), epoch, "scores_sha256", COLUMNS)
        return EpochScores(**arrays)

    def blocks(self, epoch: int) -> dict[str, NDArray[np.floating]]:
        """Read the mean errors and losses of an evaluated epoch on blocks of images, (W, B) each.

        Errors are exact (`exact_errors`). Raises the errors of `scores`. Files of records leave these scores out.
        """
        path = blocks_path(self.folder, epoch)
        if epoch in self.scored_epochs and not path.exists():
            raise DamagedFileError(
                f"{path} is missing (files of records leave out scores on blocks of images): copy it from the folder "
                f"of the original ranking, or rank the search again; the resulting reliability is in {RELIABILITY}"
            )
        found = self._arrays(path, epoch, "blocks_sha256", BLOCK_COLUMNS)
        sizes = block_sizes(self.config["image_count"], found["errors"].shape[1])
        return {**found, "errors": exact_errors(found["errors"], sizes)}

    def _arrays(self, path: Path, epoch: int, digest: str, columns: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Read the arrays of an epoch's file, whose SHA-256 its line records in the field `digest`."""
        by_epoch = {line["epoch"]: line for line in self.lines}
        if epoch not in by_epoch:
            known = ", ".join(map(str, by_epoch)) or "none so far"
            raise InvalidInputError(f"'{self.folder}' has no scores of epoch {epoch}; it has {known}")
        if path.is_file() and sha256(path) != by_epoch[epoch][digest]:
            raise damaged_file_error(path, "it is not what was recorded")
        arrays = read_npz(path, "restore it, or rank again", columns)
        lengths = {len(of) for name, of in arrays.items() if name != "image_rows"}
        if len(lengths) > 1 or any(arrays[name].dtype != dtype for name, dtype in columns.items()):
            raise damaged_file_error(path, "its arrays have different lengths or wrong types")
        return {name: arrays[name] for name in columns}

    @property
    def correlations(self) -> "pandas.DataFrame":
        """The content of correlations.csv, as a new data frame.

        Raises UserError for a ranking that is not finished, and DamagedFileError if the file is damaged, or its values
        are not those that summary.json repeats. Files that `reproduce --pack` wrote do not contain correlations.csv;
        `main_correlations` does not need it.
        """
        if self.is_finished and not (self.folder / CORRELATIONS).exists():
            raise DamagedFileError(
                f"{self.folder / CORRELATIONS} is missing (files of records do not contain it): copy it from the "
                f"folder of the original ranking, or rank the search again; the main correlations are in {SUMMARY}"
            )
        frame, summary = self._frame(CORRELATIONS, CORRELATION_COLUMNS), self.summary
        rows = rows_at(rows_of_all(frame), (summary["budget"], summary["split"]))
        repeated = {
            (int(epoch), criterion): of for epoch, found in summary["epochs"].items() for criterion, of in found.items()
        }
        self._check_repeated(CORRELATIONS, rows, ["epoch", "criterion"], repeated)
        return frame

    @property
    def main_correlations(self) -> "pandas.DataFrame":
        """The criteria in summary.json, as rows of correlations.csv: over all architectures, at the largest budget.

        Raises UserError for a ranking that is not finished.
        """
        import pandas

        summary = self.summary
        place, share = (summary["budget"], summary["split"]), summary["measured"]
        rows = [
            (int(epoch), *place, criterion, ALL, of["value"], of["low"], of["high"], of["n"], share)
            for epoch, found in summary["epochs"].items()
            for criterion, of in found.items()
        ]
        return pandas.DataFrame(rows, columns=list(CORRELATION_COLUMNS))

    @property
    def recorded_correlations(self) -> "pandas.DataFrame":
        """`correlations`, or `main_correlations` if correlations.csv is missing, as in files of records."""
        return self.correlations if (self.folder / CORRELATIONS).exists() else self.main_correlations

    @property
    def reliability(self) -> "pandas.DataFrame":
        """The content of reliability.csv, as a new data frame; raises the errors of `correlations`."""
        frame = self._frame(RELIABILITY, RELIABILITY_COLUMNS)
        repeated = {
            (predictor, of["epoch"], of["images_per_half"]): {name: of[name] for name in CURVE_COLUMNS if name in of}
            for predictor, of in self.summary["reliability"].items()
        }
        self._check_repeated(RELIABILITY, frame, ["predictor", "epoch", "images"], repeated)
        return frame

    def _check_repeated(
        self, name: str, rows: "pandas.DataFrame", keys: list[str], repeated: Mapping[Any, Mapping[str, float]]
    ) -> None:
        """Raise DamagedFileError unless the rows of a file have the values that the summary repeats, by their keys."""
        found = {tuple(row[key] for key in keys): row for row in rows.to_dict("records")}
        for key, values in repeated.items():
            row = found.get(key, {})
            for column, value in values.items():
                if not math.isclose(row.get(column, math.nan), value, rel_tol=CSV_PRECISION):
                    raise damaged_file_error(self.folder / name, f"its values are not those that {SUMMARY} repeats")

    def _frame(self, name: str, columns: tuple[str, ...]) -> "pandas.DataFrame":
        import pandas

        if not (self.folder / SUMMARY).exists():
            raise self.unfinished_error()
        try:
            content = read_bytes(self.folder / name)
            if not content.endswith(b"\n"):
                raise ValueError("its last line is incomplete")
            frame: pandas.DataFrame = pandas.read_csv(io.BytesIO(content), **exact_floats(pandas.__version__))
        except (OSError, ValueError) as error:
            raise blocked_error(self.folder / name, error) or DamagedFileError(
                f"{self.folder / name} cannot be read: restore it, or rank again"
            ) from error
        if tuple(frame) not in (columns, () if len(frame) else WITHOUT_ROWS):
            raise damaged_file_error(self.folder / name, f"its columns are not {', '.join(columns)}")
        for column in frame.columns.difference(list(TEXTS)):
            values = pandas.to_numeric(frame[column], errors="coerce")
            if not np.isfinite(values).all():
                raise damaged_file_error(self.folder / name, f"its {column} has a value that is not a number")
        return frame


def block_sizes(images: int, blocks: int) -> NDArray[np.int64]:
    """Return the numbers of consecutive images in B blocks, int64 (B,); they differ by at most one."""
    return np.array([len(part) for part in np.array_split(range(images), blocks)])


def exact_errors(errors: NDArray[np.float32], images: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return recorded errors on numbers of images as exact fractions.

    Recorded errors have the precision of float32. Their means can differ where the means of the exact errors are equal.
    """
    found: NDArray[np.float64] = np.round(errors.astype(np.float64) * images) / images
    return found


def scores_path(folder: Path, epoch: int) -> Path:
    """Return the path of an epoch's scores in a ranking's folder."""
    return folder / f"epoch-{epoch:03d}.npz"


def blocks_path(folder: Path, epoch: int) -> Path:
    """Return the path of an epoch's scores on blocks of images, from which the reliability is computed."""
    return folder / f"blocks-{epoch:03d}.npz"


def _is_search(folder: Path) -> bool:
    with suppress(UserError):
        return read_description(folder)[0] == Run.KIND
    return False
