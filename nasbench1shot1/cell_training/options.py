"""The options of every training, with their types, ranges and help; a benchmark adds the options of its protocol."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from nasbench1shot1.benchmark import Benchmark, Reference, benchmarks, load
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.networks import benchmark_of
from nasbench1shot1.runs.machine import Device, resolve_device, resolve_threads
from nasbench1shot1.runs.options import (
    MOST_EPOCHS,
    RATE,
    Images,
    OptionRecord,
    Range,
    absolute_file,
    check_ranges,
    make_options,
    option_names,
)


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(OptionRecord):
    """The options of every training. `resolved` replaces None by a value that depends on the machine.

    Attributes:
        BENCHMARK: the benchmark whose protocol is the default.
        SCALES: values that a scale sets for options that are not given.
        PUBLISHED: names of the options that the protocol fixes, for any budget.
        RECIPE: the class with the code of the protocol (`recipe.Recipe`), as "module:Class".
        RECORD: the class of the record (`record.Training`), as "module:Class".
    """

    BENCHMARK: ClassVar[Benchmark]
    SCALES: ClassVar[Mapping[str, Mapping[str, Any]]]
    PUBLISHED: ClassVar[tuple[str, ...]]
    RECIPE: ClassVar[Reference]
    RECORD: ClassVar[Reference]

    epochs: Annotated[int, Range(1, MOST_EPOCHS)]
    """Budget: number of training epochs."""
    scale: Literal["full", "quick"] = "full"
    """full: the benchmark's protocol on the official CIFAR-10; quick: a small network on bundled images."""
    seed: Annotated[int, Range(0)] = 0
    """Random seed of initial weights, image order, crops and flips."""
    images: Images = "cifar10"
    """Image set: cifar10, cifar100, ImageNet16-120, cifar10-sample, the name of an imported set, or an .npz file."""
    batch_size: Annotated[int, Range(2)] = 256
    """Batch size."""
    learning_rate: Annotated[float, RATE]
    """Initial learning rate."""
    momentum: Annotated[float, Range(0, 1)] = 0.9
    """Momentum of the optimizer."""
    weight_decay: Annotated[float, RATE]
    """L2 coefficient λ: adds λ · ½ Σ p² to the loss."""
    evaluate_every: Annotated[int | None, Range(1)] = None
    """Evaluate every N epochs, and after the last. Default: only the evaluations of the benchmark's protocol."""
    device: Device = "auto"
    """Device to compute on; auto selects a GPU if there is one."""
    threads: Annotated[int | None, Range(1)] = None
    """Number of CPU threads; results are reproducible only with an equal number. Default: PyTorch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """float32, or bfloat16 for the network (autocast); batch-norm statistics and the optimizer stay in float32."""
    compile: bool = False
    """Compile the network with torch.compile (needs a C++ compiler on a CPU)."""
    checkpoint_every: Annotated[int, Range(1)] = 1
    """Write a checkpoint every N epochs, and after the last."""

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """Return a resolved configuration from named options; the scale sets options that are not given, or None.

        Raises:
            InvalidInputError: an option is unknown (the message suggests the closest known one) or belongs to another
                benchmark, or a value has the wrong type or is out of range.
        """
        check_options(cls, given)
        scale = make_options(cls, given, {}).scale
        return make_options(cls, given, cls.SCALES[scale]).resolved()

    def resolved(self) -> Self:
        """Fill in the values that depend on the machine, and check all values.

        Raises:
            InvalidInputError: a number is out of its range, or the device does not exist.
        """
        config = replace(
            self,
            threads=resolve_threads(self.threads),
            device=resolve_device(self.device),
            images=absolute_file(self.images),
        )
        check_ranges(config)
        return config

    @classmethod
    def record(cls) -> Any:
        """Return the class of the record of a training with these options."""
        return load(cls.RECORD, f"the record of {cls.__name__}")

    def is_published(self) -> bool:
        """Return whether the options match the benchmark's protocol, for any budget."""
        return all(getattr(self, name) == getattr(type(self), name) for name in self.PUBLISHED)


def options_of(x: Any) -> type[TrainingOptions]:
    """Return the class of the options that train an architecture or a cell; its benchmark determines it."""
    options: type[TrainingOptions] = benchmark_of(x).load("training")
    return options


def every_options() -> Iterator[type[TrainingOptions]]:
    """Iterate over the classes of training options of all benchmarks that have a training protocol."""
    return (benchmark.load("training") for benchmark in benchmarks() if benchmark.training is not None)


def check_options(options: type[TrainingOptions], given: Iterable[str]) -> None:
    """Raise InvalidInputError for an option that only trainings of another benchmark have."""
    mine = option_names(options)
    for name in given:
        other = None if name in mine else next((one for one in every_options() if name in option_names(one)), None)
        if other is not None:
            raise InvalidInputError(
                f"{option(name)} does not apply to the training protocol of {options.BENCHMARK.title} (only to "
                f"{other.BENCHMARK.title}'s): remove it"
            )
