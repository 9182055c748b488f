"""Read the folder of a training; its metrics have the same form as a table's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from nasbench1shot1.cell_training.options import TrainingOptions, every_options
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.text import counted, percent
from nasbench1shot1.images.data_sets import OTHER
from nasbench1shot1.runs.folder import CONFIG, damaged_file_error, read_description
from nasbench1shot1.runs.record import RunRecord

INITIAL, HALFWAY, FINAL = "initial", "halfway", "final"
"""The named evaluations of a training; every training has the final one."""
EPOCH = "epoch"
"""An evaluation at the end of an epoch before the last."""
ACCURACIES = ("train_accuracy", "validation_accuracy", "test_accuracy")
FIELDS: dict[str, Any] = {
    "step": int,
    "epochs": float,
    "evaluation": str | None,
    "learning_rate": float,
    "batch_loss": float,
    "batch_accuracy": float,
    **dict.fromkeys(ACCURACIES, float | None),
    "training_time": float,
}
"""The fields of a line of metrics.jsonl and their types; accuracies are fractions, times seconds (docs/training.md)."""
SUMMARISED: dict[str, Any] = {
    "dataset": str,
    "flops": int | None,
    "trainable_parameters": int,
    "training_time": float,
    **{name: FIELDS[name] for name in ACCURACIES},
}
"""Fields of summary.json that readers use, with their types."""
COMMON_FACTS = {
    "trainable_parameters": int,
    "images_sha256": str,
    "parts": str,
    "steps": int,
    "is_protocol": bool,
}
"""Fields of config.json besides the options and the architecture, with their types: the data that the training used."""
DESCRIBED = ("epochs", "seed", "scale", "dataset", "images", "is_protocol", "trainable_parameters")
"""The fields of config.json that a summary repeats besides `Training.DESCRIBED`, if they exist."""


@dataclass(frozen=True)
class Evaluation:
    """An evaluation of a training.

    Attributes:
        epochs: the nominal number of epochs: 0, half of the budget, or all of it.
        step: number of steps before the evaluation.
        training_time: seconds of training before the evaluation, without evaluations and checkpoints.
        train_accuracy: accuracy on training images without augmentation, a fraction; for NAS-Bench-201, on the
            augmented batches of the last epoch, each before its step.
        validation_accuracy: accuracy on validation images without augmentation, a fraction; None if there are none.
        test_accuracy: accuracy on test images without augmentation, a fraction.
    """

    epochs: float
    step: int
    training_time: float
    train_accuracy: float
    validation_accuracy: float | None
    test_accuracy: float


@dataclass(frozen=True, eq=False, repr=False)
class Training(RunRecord):
    """The recorded training of a network; reading does not change its folder.

    Attributes:
        folder: path of the folder.
        config: all options, resolved, and the architecture.
        SUBJECT: the word for what was trained.
        OPTIONS: the class of the options.
        DESCRIBED: the fields of config.json that identify the network, for the summary.
    """

    COMMAND, FIELDS, FACTS = "train", FIELDS, {"architecture": str, **COMMON_FACTS}
    SUMMARISED = SUMMARISED
    DRAWING = "nasbench1shot1.cell_training.drawing:draw_training"
    SHOWN = ("scale", "dataset", "images", "epochs", "batch_size")
    SUBJECT: ClassVar[str] = "architecture"
    OPTIONS: ClassVar[type[TrainingOptions]]
    DESCRIBED: ClassVar[tuple[str, ...]] = ("architecture",)

    def _subject(self) -> str:
        return f"{self.network_id}, {counted(self.config['epochs'], 'epoch')}, seed {self.config['seed']}"

    def _result(self, summary: Mapping[str, Any]) -> str:
        parts = (f"{name} {percent(summary[f'{name}_accuracy'])}" for name in ("validation", "test"))
        return f"accuracy: {', '.join(parts)}"

    def _numbers(self, summary: Mapping[str, Any]) -> dict[str, str]:
        shown = (name for name in reversed(ACCURACIES) if summary[name] is not None)
        return {
            "architecture": str(self.config["architecture"]),
            **{name.replace("_", " "): f"{percent(summary[name])} (measured)" for name in shown},
            "training time": f"{summary['training_time']:,.0f} s",
            "trainable parameters": f"{self.trainable_parameters:,}",
        }

    @property
    def progress(self) -> str:
        """The number of trained steps in words, such as "780 of 1,560 steps"."""
        steps = self.lines[-1]["step"] if self.lines else 0
        return f"{steps:,} of {counted(self.config['steps'], 'step')}"

    @classmethod
    def find_problem(cls, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """Return a message if the step numbers of the lines do not increase, else None."""
        ascend = all(a["step"] < b["step"] for a, b in pairwise(lines))
        return None if ascend else "the step numbers of its lines do not increase"

    def are_complete(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the last line records the last step of the training."""
        return bool(lines) and bool(lines[-1]["step"] == self.config["steps"])

    @cached_property
    def trained(self) -> Any:
        """The trained Architecture or Cell, with which tables can be queried.

        Raises DamagedFileError if config.json does not have one.
        """
        try:
            return self.OPTIONS.BENCHMARK.load("architecture").parse(self.config["architecture"])
        except InvalidInputError as error:
            raise damaged_file_error(self.folder / CONFIG, "its architecture is impossible") from error

    @staticmethod
    def as_trained(x: Any) -> Any:
        """Return the argument of `train_cell` in the form of `trained`."""
        return x

    @property
    def network_id(self) -> str:
        """The identifier of the network in tables."""
        return str(self.trained.network_id)

    @property
    def dataset(self) -> str | None:
        """The data set's name in a table with several data sets; None for NAS-Bench-101, which has one.

        A finished training on own images has the data set `OTHER`.
        """
        option = self.config.get("dataset")
        return str(self.summary["dataset"]) if option is not None and self.is_finished else option

    @property
    def initial(self) -> Evaluation:
        """The evaluation after the first step, which does not change any weight (only for NAS-Bench-101)."""
        return self._evaluation(INITIAL)

    @property
    def halfway(self) -> Evaluation:
        """The evaluation after half of the budget, in the middle of the schedule (only for NAS-Bench-101)."""
        return self._evaluation(HALFWAY)

    @property
    def final(self) -> Evaluation:
        """The evaluation after the last step; raises UserError if it has not been made yet."""
        return self._evaluation(FINAL)

    @property
    def trainable_parameters(self) -> int:
        """The number of trainable parameters of the network."""
        return int(self.config["trainable_parameters"])

    def _evaluation(self, name: str) -> Evaluation:
        for line in self.lines:
            if line["evaluation"] == name:
                return Evaluation(**{field: line[field] for field in Evaluation.__annotations__})
        if self.is_finished:
            raise InvalidInputError(
                f"'{self.folder}' has no evaluation '{name}', which only trainings with NAS-Bench-101's protocol have: "
                "read its metrics"
            )
        raise self.unfinished_error()


def load_training(folder: str | Path) -> Training:
    """Open the folder of a training for reading.

    Returns:
        The record of the benchmark's trainings, such as `nasbench101.training_options.CellTraining`.

    Raises InvalidInputError if the folder has no training, DamagedFileError if its configuration is damaged.
    """
    kind, _ = read_description(as_path(folder, "folder"))
    return (record_class(kind) or next(_record_classes())).open(folder)  # the first one's error names the folder


def record_class(kind: str) -> type[Training] | None:
    """Return the class of the records of a kind, such as "cell training"; None if no benchmark has the kind."""
    return next((record for record in _record_classes() if kind == record.KIND), None)


def _record_classes() -> Iterator[type[Training]]:
    return (options.record() for options in every_options())


def summarise(training: Training, dataset: str, flops: int | None) -> dict[str, Any]:
    """Return the summary of a finished training: the metrics at the end, and at the earlier named evaluations.

    Args:
        training: the training, whose lines are complete.
        dataset: the data set of the images. The option `dataset`, if the benchmark has one, is more exact, but it only
            divides the images of another data set (`OTHER`).
        flops: the multiply-adds of the network for one image; None if unknown.
    """
    by_name = {line["evaluation"]: line for line in training.read_lines(training.folder) if line["evaluation"]}
    named = ("training_time", *ACCURACIES)
    at = {name: {field: line[field] for field in named} for name, line in by_name.items()}
    described = (*training.DESCRIBED, *DESCRIBED)
    facts = {name: training.config[name] for name in described if name in training.config}
    if dataset == OTHER:
        facts["dataset"] = OTHER
    return {
        "dataset": dataset,
        **facts,
        "flops": flops,
        **at[FINAL],
        **{name: at[name] for name in (HALFWAY, INITIAL) if name in at},
    }
