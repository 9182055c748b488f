"""The record of a search: its folder, read without pickle, and its result; `writer` writes it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.evaluator import BOUNDS, OTHER_DATASETS, Baseline
from nasbench1shot1.ground.arguments import whole_number
from nasbench1shot1.ground.errors import InvalidInputError, UserError, quote
from nasbench1shot1.ground.files import as_path, read_npz
from nasbench1shot1.ground.text import percent
from nasbench1shot1.ground.values import copied_property
from nasbench1shot1.one_shot_search.early_stopping import returned_epoch
from nasbench1shot1.one_shot_search.options import FACTS, SearchConfig
from nasbench1shot1.reading import Reading
from nasbench1shot1.registry import SCRIPT, is_trusted, one_shot, optimizer, search_space
from nasbench1shot1.runs.folder import (
    CONFIG,
    METRICS,
    RECORDED,
    SEEDS,
    SUMMARY,
    WEIGHTS,
    damaged_file_error,
    read_description,
)
from nasbench1shot1.runs.options import recorded_options
from nasbench1shot1.runs.own_files import of_reports
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.space import OneShotSpace
from nasbench1shot1.tables.columns import source_text

if TYPE_CHECKING:
    import pandas
    from torch import Tensor

    from nasbench1shot1.supernets.supernet import Supernet

PARAMETERS, FIGURE, CELLS = "architecture_parameters.npz", "regret.png", "cells.png"
EVENTS, EVENT_FILES = "tensorboard", "events.out.tfevents.*"
"""A folder with the event files that `search --tensorboard` writes, and the pattern of their names."""
REPORTED = (METRICS, SUMMARY, FIGURE)
"""The files in a report of a search."""
FIELDS: dict[str, Any] = {
    "epoch": int,
    "train_loss": float | None,
    "train_error": float | None,
    "one_shot_validation_error": float,
    "architecture": str,
    "cell_hash": str,
    "table_validation_error": float | None,
    "table_test_error": float | None,
    "validation_regret": float | None,
    "test_regret": float | None,
    "validation_measured": bool,
    "test_measured": bool,
    "search_seconds": float,
    "simulated_seconds": float | None,
    "hessian_eigenvalue": float | None,
    "other_datasets": OTHER_DATASETS,
}
"""The fields of a line of metrics.jsonl and their types; errors and regrets are fractions, times seconds
(docs/run_folder.md).
"""
SELECTED_EPOCH = "selected_epoch"
"""Field of the last line: the epoch whose architecture and Λ it has, if the method selects an epoch."""
IF_RECORDED: dict[str, Any] = {
    "preferred_one_shot_error": float,
    "cell_alignment": float,
    "phase": str,
    "structure": dict,
    SELECTED_EPOCH: int,
}
"""Further fields of a line: measurements that options ask for, and fields of methods whose search has phases of their
own, changes the supernet's structure, or selects one of its epochs."""
SUMMARISED: dict[str, Any] = {
    "searched_epochs": int,
    "architecture": str,
    **{name: kind for name, kind in FIELDS.items() if name.endswith(("_error", "_regret", "_measured"))},
    "one_shot_validation_error": float | None,
    "other_datasets": OTHER_DATASETS,
}
"""Fields of summary.json that readers use, with their types; loops of users may lack the one-shot error."""
PARAMETERS_DIGEST = "architecture_parameters_sha256"
"""Field of summary.json and checkpoints: `parameters_digest` of the epochs that they follow."""
Parameters = Mapping[str, NDArray[np.float32]]
"""Λ of one epoch."""
FROM_CONFIG = ("optimizer", "space", "seed", "scale", "preset", "epochs", "images", "channels", "cells")
"""Options that the summary repeats."""


@dataclass(frozen=True, eq=False, repr=False)
class SearchRecord(RunRecord):
    """Read-only view of a search's folder: the architecture after every epoch, its Λ, and its values in the table.

    Attributes:
        folder: the folder of the search.
        config: every option and fact of config.json. All searches have the options `optimizer`, `space`, `seed`,
            `table` and `reference`, and the facts `space_id`, `table_id` and `dataset`.
    """

    FIELDS = FIELDS
    IF_RECORDED = IF_RECORDED
    SUMMARISED = SUMMARISED
    PICTURE = FIGURE
    DRAWING = "nasbench1shot1.experiments.run_drawing:draw_regret"
    SHOWN = ("scale", "preset", "epochs", "images", "channels", "cells")
    FILES: ClassVar[Sequence[str]] = (PARAMETERS, FIGURE, CELLS)

    @cached_property
    def baseline(self) -> Baseline | None:
        """The bounds of the search and their baseline; None without bounds."""
        return Baseline.from_config(self.config, self.folder / CONFIG)

    @property
    def planned_epochs(self) -> int | None:
        """Planned number of epochs; None if it is unknown."""
        return self.config.get("epochs")

    def _subject(self) -> str:
        return f"{self.config['optimizer']} on {self.config['space']}, seed {self.config['seed']}"

    def _progress(self, recorded: int) -> str:
        planned = "" if self.planned_epochs is None else f" of {self.planned_epochs}"
        return f"epoch {max(recorded - 1, 0)}{planned}"

    def _result(self, summary: Mapping[str, Any]) -> str:
        name = f"test regret on {self.config['dataset']}" if summary["other_datasets"] else "test regret"
        return describe_regrets(name, [summary["test_regret"]], summary["test_measured"])

    def _numbers(self, summary: Mapping[str, Any]) -> dict[str, str]:
        found = {"architecture": str(summary["architecture"])}
        for split in ("test", "validation"):
            for name, field in (("regret", f"{split}_regret"), ("error", f"table_{split}_error")):
                found[f"{split} {name}"] = with_source(summary[field], summary[f"{split}_measured"])
        return found

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a sentence if the lines are not valid, else None.

        Valid lines record epochs 0, 1, … in order, and each architecture has the cell whose hash its line names.
        """
        for epoch, line in enumerate(lines):
            if line["epoch"] != epoch:
                return f"line {epoch + 1} does not record epoch {epoch}"
            if list(line["other_datasets"]) != list(lines[0]["other_datasets"]):
                return f"line {epoch + 1} has other data sets than line 1"
            try:
                is_hash = Architecture.parse(line["architecture"]).network_id == line["cell_hash"]
            except InvalidInputError as error:
                return quote(error)
            if not is_hash:
                return f"the architecture of epoch {epoch} does not have the cell that its line names"
        return None

    @classmethod
    def as_frame(cls, lines: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
        """Return lines as a frame, with columns such as cifar100_test_regret for the table's other data sets."""
        import pandas

        frame = super().as_frame(lines).drop(columns="other_datasets")
        elsewhere = [flatten_datasets(line["other_datasets"]) for line in lines]
        return pandas.concat([frame, pandas.DataFrame(elsewhere, index=frame.index, dtype="float64")], axis=1)

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether there is a line for each epoch that the summary counts, and for epoch 0."""
        searched = self.summary.get("searched_epochs")
        return type(searched) is int and len(lines) == searched + 1

    @property
    def final_epoch(self) -> int:
        """The epoch of the search's result: the last one so far, unless early stopping returned to an earlier epoch.

        Raises DamagedFileError if the summary names an epoch that is not recorded.
        """
        last = len(self.lines) - 1
        found = self.summary.get("final_epoch", last) if self.is_finished else last
        if type(found) is not int or not 0 <= found <= last:
            raise damaged_file_error(self.folder / SUMMARY, f"epoch {found} is not recorded")
        return found

    @copied_property
    def architectures(self) -> list[Architecture]:
        """The preferred architecture after every epoch, starting with epoch 0, in a new list."""
        return [Architecture.parse(line["architecture"]) for line in self.lines]

    @copied_property
    def architecture_parameters(self) -> dict[str, NDArray[np.float32]]:
        """Raw Λ after every epoch: a new array (epochs + 1, …) for every key of the space's `mixing_shapes()`.

        Raises DamagedFileError if the file is damaged, or differs from what a finished search recorded.
        """
        stored = read_parameters(self.folder / PARAMETERS)
        if self.is_finished and self.summary.get(PARAMETERS_DIGEST) != parameters_digest(split_by_epoch(stored)):
            raise damaged_file_error(self.folder / PARAMETERS, f"its values are not those that {SUMMARY} summarises")
        return stored

    def reading(self, epoch: int) -> Reading:
        """Return how Λ after an epoch maps to mixing weights; by a softmax, if nothing else is known."""
        return Reading()

    def describe_reading(self, epoch: int) -> str:
        """Return the words of captions for `reading`; they name only kinds of weights that the space has.

        Raises the errors of `architecture_parameters`.
        """
        of_operations = OneShotSpace.operation_key if self._space is None else self._space.operation_key
        keys = self.architecture_parameters.keys()
        return self.reading(epoch).describe(of_operations in keys, bool(keys - {of_operations}))

    @property
    def reading_note(self) -> str:
        """A sentence for captions if `reading` is a guess; else empty."""
        return ""

    def mixing_weights(self, epoch: int) -> "dict[str, NDArray[np.float64]]":
        """Return the mixing weights that Λ gives after an epoch, at the mean of any noise; NaN where excluded.

        Raises InvalidInputError for an epoch that is not recorded, and the errors of `architecture_parameters`.
        """
        return self.mixing_weights_of([epoch])[epoch]

    def mixing_weights_of(self, epochs: Iterable[int]) -> "dict[int, dict[str, NDArray[np.float64]]]":
        """Return `mixing_weights` of some epochs; the file of Λ is read once."""
        stored, lines = self.architecture_parameters, self.lines
        last = len(lines) - 1
        epochs = [whole_number("epoch", epoch, f"a whole number from 0 to {last}") for epoch in epochs]
        if unknown := [epoch for epoch in epochs if not 0 <= epoch <= last]:
            known = "it has recorded none yet" if last < 0 else f"give one of 0 to {last}"
            raise InvalidInputError(f"'{self.folder}' has no epoch {unknown[0]}: {known}")
        return {
            epoch: self.reading(epoch).weights(
                {key: values[epoch] for key, values in stored.items()}, self._space, lines[epoch].get("structure")
            )
            for epoch in epochs
        }

    @cached_property
    def _space(self) -> "OneShotSpace | None":
        """The space of the search; None if its module is not imported, because a record names it."""
        return known_space(self.config["space"])


@dataclass(frozen=True, eq=False, repr=False)
class Run(SearchRecord):
    """Read-only view of the folder of a search of this package.

    Attributes:
        folder: the folder of the search.
        config: all resolved options, and facts about the data.
    """

    KIND, COMMAND, OPTIONS, FACTS = "search", "search", SearchConfig, FACTS
    FILES = (
        *SearchRecord.FILES,
        *(f"{WEIGHTS}/epoch-*.pt", f"{EVENTS}/{EVENT_FILES}"),
        *of_reports(REPORTED),
    )

    def check_config(self) -> None:
        """See `RunRecord`; the earlier lengths of the search, if any, must be readable, too."""
        super().check_config()
        if not _is_growth(self._config.setdefault("grown", [])):
            raise damaged_file_error(self.folder / CONFIG, "its grown is impossible")

    def reading(self, epoch: int) -> Reading:
        """Return the optimizer's reading of Λ after an epoch; a softmax if its module is not imported."""
        config = self.config
        if self.reading_note:
            return Reading()
        method, own = optimizer(config["optimizer"]), self._hyperparameters
        longer = [growth["from"] for growth in config["grown"] if epoch <= growth["after_epoch"]]
        return method.reading(own, epoch, (longer or [config["epochs"]])[0])

    @cached_property
    def _hyperparameters(self) -> Any:
        """The recorded options of the optimizer."""
        method = optimizer(self.config["optimizer"])
        return recorded_options(method.Hyperparameters, self.config, self.folder / CONFIG)

    @property
    def reading_note(self) -> str:
        """A sentence for captions if the optimizer's module, named only by the record, is not imported; else empty."""
        name = self.config["optimizer"]
        if is_trusted("optimizers", name):
            return ""
        why = f"The module of the optimizer {name} is not imported"
        if name.startswith(SCRIPT):
            why = f"The optimizer {name} belongs to another script or notebook"
        return f"{why}, so weights are drawn as the softmax of Λ."

    def supernet(self, epoch: int) -> "tuple[Supernet, dict[str, Tensor]]":
        """Return the network with the weights of a saved epoch, and Λ after that epoch.

        Arguments and errors are as in `kept_weights.supernet_of`.
        """
        from nasbench1shot1.one_shot_search.kept_weights import supernet_of

        return supernet_of(self, epoch)


def _is_growth(recorded: Any) -> bool:
    """Return whether config.json can list these lengths that a search had before it was resumed with more epochs."""
    names = ("from", "to", "after_epoch")
    return isinstance(recorded, list) and all(
        isinstance(growth, dict) and all(type(growth.get(name)) is int for name in names) for growth in recorded
    )


def known_space(name: str) -> OneShotSpace | None:
    """Return a space that a record names; None if its module is not imported, or the space is not a one-shot space."""
    if is_trusted("search_spaces", name):
        with suppress(UserError):
            return one_shot(search_space(name))
    return None


def open_search(folder: str | Path) -> Run:
    """Open a search's folder for reading.

    Raises InvalidInputError if the folder holds no search, DamagedFileError if its configuration is damaged.
    """
    path = as_path(folder, "folder")
    if (path / SEEDS).is_file():
        one = min(path.glob("seed-*"), key=lambda run: (len(run.name), run.name), default=path / "seed-0")
        raise InvalidInputError(
            f"'{path}' holds the searches of several seeds: choose one of them, such as {one} (in Python, group[0])"
        )
    if (path / CONFIG).is_file() and read_description(path)[0] == RECORDED:
        raise InvalidInputError(
            f"'{path}' was recorded with nb.Recorder and has no supernet weights to rank or resume with: only "
            "nb.Recorder.resume can continue it"
        )
    return Run.open(path)


def split_by_epoch(stored: Mapping[str, NDArray[np.float32]]) -> list[Parameters]:
    """Return Λ of every epoch from arrays (epochs + 1, …)."""
    epochs = min(map(len, stored.values()), default=0)
    return [{key: values[epoch] for key, values in stored.items()} for epoch in range(epochs)]


def parameters_digest(history: Sequence[Parameters]) -> str:
    """Return the SHA-256 of Λ of every epoch, in the order in which it is stored."""
    found = hashlib.sha256()
    for parameters in history:
        for key, values in parameters.items():
            found.update(f"{key} {values.shape} {values.dtype}".encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def read_parameters(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read Λ of every epoch, arrays (epochs + 1, …); raises DamagedFileError if a number is missing or impossible."""
    arrays = read_npz(path, "restore it, or start a new run")
    for key, values in arrays.items():
        if values.ndim < 1 or values.dtype != np.float32 or not np.isfinite(values).all():
            raise damaged_file_error(path, f"'{key}' is not made of finite float32 numbers, epoch by epoch")
    if len(set(map(len, arrays.values()))) > 1:
        raise damaged_file_error(path, "its arrays have different numbers of epochs")
    return arrays


def summarise(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], table_id: str) -> dict[str, Any]:
    """Return the summary of a finished run from its configuration and the lines of its epochs, starting with epoch 0.

    The result belongs to the last epoch (`final_epoch`) or, if the search stopped early, to the epoch that it went back
    to; `searched_epochs` is the number of epochs searched.
    """
    final = lines[-1]
    if config.get("early_stopping"):
        final = lines[returned_epoch([line["hessian_eigenvalue"] for line in lines]) or -1]
    return {
        **{name: config[name] for name in FROM_CONFIG if name in config},  # recorded loops have only some
        "table_id": table_id,
        **({BOUNDS: config[BOUNDS]} if BOUNDS in config else {}),
        "searched_epochs": lines[-1]["epoch"],
        "final_epoch": final["epoch"],
        **{name: value for name, value in final.items() if name != "epoch"},
    }


def describe_regrets(name: str, regrets: Sequence[float | None], is_measured: bool) -> str:
    """Return the name and the mean of regrets in percent, and whether they are predicted or not in the table."""
    known = [regret for regret in regrets if regret is not None]
    if not known or len(known) < len(regrets):
        return f"{name} not in the table"
    return f"{name} {percent(sum(known) / len(known))}{'' if is_measured else ' (predicted)'}"


def with_source(value: float | None, is_measured: bool) -> str:
    """Return a fraction in percent, and whether it is measured, predicted or not in the table."""
    return "not in the table" if value is None else f"{percent(value)} ({source_text(is_measured)})"


def flatten_datasets(of_datasets: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return the field `other_datasets` of a line, flat, with keys such as cifar100_test_regret."""
    return {f"{dataset}_{name}": value for dataset, found in of_datasets.items() for name, value in found.items()}
