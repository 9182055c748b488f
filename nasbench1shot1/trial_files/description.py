"""What differs between the spaces whose trainings are in files of NAS-Bench-201 and NATS-Bench."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nasbench1shot1.benchmark import Benchmark, benchmarks
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.tables.columns import STANDARD, Column

SPLITS = ("train", "validation", "test", "valtest")
"""The images of a training; "valtest" combines the validation and the test images."""

TIMES = {
    "train": "training_time",
    "validation": "evaluation_time",
    "test": "test_evaluation_time",
    "valtest": "valtest_evaluation_time",
}
"""For each split, the metric of the seconds spent on it in all epochs."""

LATENCY = "latency"


def _metrics() -> dict[str, Column]:
    accuracy, loss, seconds = (STANDARD[name] for name in ("test_accuracy", "test_loss", "evaluation_time"))
    kinds = {"accuracy": accuracy, "loss": loss}
    columns = [
        *(
            Column(metric=f"{split}_{kind}", quantity=kind, split=split, unit=like.unit, direction=like.direction)
            for kind, like in kinds.items()
            for split in SPLITS
        ),
        STANDARD["training_time"],
        *(Column(metric=TIMES[split], quantity=seconds.quantity, unit="s", direction="lower") for split in SPLITS[1:]),
        Column(metric=LATENCY, quantity="latency", unit="s", direction="lower"),
    ]
    return {column.metric: column for column in columns}


METRICS = _metrics()
"""The metrics of a training with one seed."""


@dataclass(frozen=True, kw_only=True)
class Trainings:
    """The trainings of a space. `Benchmark.trainings` names this object.

    Attributes:
        benchmark: the record of the space's benchmark; its row keys are `tables.index_keys.IndexKeys`.
        tag: the space's short name in NATS-Bench's file names, "tss" or "sss".
        datasets: the trainings by data set.
        sets: for each data set, the official name of the images of each split.
        images: for each data set, the number of images of each split.
        classes: for each data set, the number of classes.
        epochs: the budgets, ascending.
        seeds: the random seeds of the repeats, ascending.
        objectives: as in a table's description (`tables.description.Objective`).
        parameters: a function of an architecture and a number of classes that counts trainable parameters.
        configuration: a function of an official text and a number of classes that returns the configuration from which
            AutoDL-Projects builds the network.
        unprinted: for each data set, the splits that the official API omits when it prints results.
    """

    benchmark: Benchmark
    tag: str
    datasets: tuple[str, ...]
    sets: Mapping[str, Mapping[str, str]]
    images: Mapping[str, Mapping[str, int]]
    classes: Mapping[str, int]
    epochs: tuple[int, ...]
    seeds: tuple[int, ...]
    objectives: tuple[Mapping[str, str], ...]
    parameters: Callable[[Any, int], int]
    configuration: Callable[[str, int], Mapping[str, Any]]
    unprinted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def keys(self) -> Any:
        """The class of the row keys, which numbers the architectures."""
        return self.benchmark.load("keys")

    def index_of(self, text: Any) -> int | None:
        """Return the official index of an architecture's official text; None for anything else."""
        try:
            found = self.keys.FORM.from_text(text)
        except (InvalidInputError, TypeError):
            return None
        return None if found is None or found.official != text else self.keys.index_of(found)


def all_trainings() -> Iterator[Trainings]:
    """Iterate over the descriptions of all benchmarks that have one."""
    for benchmark in benchmarks():
        if benchmark.trainings is not None:
            yield benchmark.load("trainings")


def trainings_of(text: Any) -> Trainings | None:
    """Return the description of the space that an architecture's official text belongs to; None for other texts."""
    return next((known for known in all_trainings() if known.index_of(text) is not None), None)
