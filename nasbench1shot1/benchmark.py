"""The record of a benchmark: everything that differs between NAS-Bench-101, NAS-Bench-201 and other benchmarks.

The authors of a benchmark trained every architecture of a space, and published the results. The code and the record of
a benchmark are in one sub-package, such as `nasbench201/`. All other modules read the record (`registry.benchmark`),
and never check which benchmark they are used with. Another package can add a benchmark through the entry-point group
`nasbench1shot1.benchmarks` (docs/own_benchmark.md).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.plugins import Group, imported

Reference = str
"""A reference to an object, as "module:name". The object is imported only when it is used, so records load fast."""

CellFeature = Literal[
    "auxiliary-skip",
    "weights-of-operations",
    "partial-channels",
    "masked-operations",
    "masked-edges",
    "observed-candidates",
    "unsampled-terms",
]
CELL_FEATURES: Mapping[CellFeature, str] = {
    "auxiliary-skip": "add their scaled input to mixtures of operations",
    "weights-of-operations": "list the weights of each operation",
    "partial-channels": "apply operations to a changing part of the channels",
    "masked-operations": "leave out single operations of a mixture",
    "masked-edges": "leave out entries of choices other than operations",
    "observed-candidates": "show the outputs of all candidates",
    "unsampled-terms": "add the mixing weights of operations that were not sampled",
}
"""What cells of supernets can do besides computing mixtures and paths, worded to follow "cells that". The first three
features need mixtures that are subclasses of `supernets.layers.Mixture`."""


@dataclass(frozen=True, kw_only=True)
class BundledTable:
    """A table that comes with a package: a folder, or columns that are computed when the table is opened.

    Attributes:
        folder: the folder of the table as "package:path", such as "nasbench1shot1:data/table".
        columns: a function without arguments that returns the arguments of `Table.from_columns`, for a table in memory.
        build: a function (out: Path, report) that rebuilds the table from its sources; None if there is none.
    """

    folder: str | None = None
    columns: Reference | None = None
    build: Reference | None = None


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """The parts of a benchmark. Objects that references name are imported only when they are used.

    Attributes:
        name: short name, such as "nasbench101". Tables record it, and it is the key of the defaults that an optimizer
            has for a benchmark (`family_defaults`).
        title: name in sentences, such as "NAS-Bench-101".
        networks: the singular and the plural noun for the rows of its tables, such as ("cell", "cells").
        architecture: the form of its architectures, a subclass of `Architecture`.
        keys: the class that identifies the rows of its tables (`tables.keys.RowKeys`).
        network: the function that builds the stand-alone network of an architecture (`networks.build_network`).
        training: the options of the training protocol, a subclass of `cell_training.options.TrainingOptions`.
        cell: the cell of its supernets (`supernets.supernet.SupernetCell`); a space may name another.
        cell_features: what these cells can do besides computing mixtures and paths. Methods that need a feature reject
            a space without it.
        skeleton: the layers around the cells (`supernets.places.Skeleton`); a space may name another.
        shared_passes: the class that evaluates many architectures with shared weights faster than one pass each
            (`supernets.weight_sharing.SharedPasses`); None if there is none.
        table: the table of its spaces: a bundled or imported one. None: $NB1SHOT1_TABLE, or else the default table.
        tables: the tables that come with it, by name.
        files: the readers of its official files (`tables.formats.FileFormat`).
        trainings: the description of its trainings in NATS-Bench's files (`trial_files.description.Trainings`), if it
            has such files.
        downloads: official files that can be downloaded, by short name (`tables.formats.Download`).
        statistics: the analyses that `nb1shot1 statistics` offers for its tables, by name
            (`experiments.space_statistics`).
        reference_points: known architectures that figures can mark, such as a residual network: texts by name. Figures
            of single points mark the first one.
        costs: metrics of costs that follow from the networks alone, for tables without such a column: functions (table)
            → values of all rows, by metric.
        has_largest_baseline: whether figures of its spaces show the regret of always choosing the network with the
            most trainable parameters, even without bounds on costs.
        split: the scheme that splits the images of a search (`images.splits`); None: the preset's scheme.
        halves: a function (data set) → `images.splits.OfficialSplit`, if `split` is a scheme of this benchmark.
        search_defaults: defaults of options that differ for searches on its spaces.
        scale_defaults: defaults of options that differ for searches at a scale, by its name, such as "quick".
        black_box_defaults: defaults of the options of black-box studies, such as the limit of simulated seconds.
        has_original_preset: whether there is published code of one-shot searches on its spaces, which the preset
            "original" reproduces.
        original_defaults: defaults of options that differ for searches on its spaces under the preset "original"; they
            override what a method's `original_defaults` give for all spaces.
        original_passes: a function that evaluates sub-networks as the published ranking script does; None if there is
            none, so that rankings do not have the preset "original".
    """

    name: str
    title: str
    networks: tuple[str, str]
    architecture: Reference
    keys: Reference
    network: Reference | None = None
    training: Reference | None = None
    cell: Reference | None = None
    cell_features: tuple[CellFeature, ...] = ()
    skeleton: Reference | None = None
    shared_passes: Reference | None = None
    table: str | None = None
    tables: Mapping[str, BundledTable] = field(default_factory=dict)
    files: tuple[Reference, ...] = ()
    trainings: Reference | None = None
    downloads: Mapping[str, Reference] = field(default_factory=dict)
    statistics: Reference | None = None
    reference_points: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, Reference] = field(default_factory=dict)
    has_largest_baseline: bool = False
    split: str | None = None
    halves: Reference | None = None
    search_defaults: Mapping[str, Any] = field(default_factory=dict)
    scale_defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    black_box_defaults: Mapping[str, Any] = field(default_factory=dict)
    has_original_preset: bool = False
    original_defaults: Mapping[str, Any] = field(default_factory=dict)
    original_passes: Reference | None = None

    def load(self, part: str) -> Any:
        """Return the object that an attribute refers to, such as `load("keys")`.

        Raises InvalidInputError if the benchmark has no such part, or its module cannot be imported.
        """
        reference = getattr(self, part)
        if reference is None:
            raise InvalidInputError(f"{self.title} has no {part}: add it to the record of the benchmark")
        return load(reference, f"the {part} of {self.title}")


def load(reference: Reference, what: str) -> Any:
    """Return the object that a reference names; raises InvalidInputError, which quotes `what`, if the import fails."""
    try:
        return imported(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"{what} is '{reference}', but importing it fails ({error}): correct the name"
        ) from error


BENCHMARKS = Group(
    "benchmark",
    "nasbench1shot1.benchmarks",
    {
        "nasbench101": "nasbench1shot1.nasbench101.benchmark:BENCHMARK",
        "nasbench201": "nasbench1shot1.nasbench201.benchmark:BENCHMARK",
        "nats_size": "nasbench1shot1.nats_size.benchmark:BENCHMARK",
    },
)


def benchmark(name: str) -> Benchmark:
    """Return the record of the benchmark with a name, such as "nasbench101".

    Raises InvalidInputError for an unknown name; the message suggests the closest known name.
    """
    found = BENCHMARKS.load(name)
    if isinstance(found, Benchmark):
        return found
    raise InvalidInputError(f"'{name}' is not a benchmark: name an nb.Benchmark, such as my_module:BENCHMARK")


def benchmarks() -> Iterator[Benchmark]:
    """Iterate over all registered benchmarks, built-in ones first; others are looked up only when they are reached."""
    yield from map(benchmark, BENCHMARKS.built_in)
    for name in BENCHMARKS.names():
        if not BENCHMARKS.is_built_in(name):
            with suppress(InvalidInputError):  # a package that cannot be imported only matters if it is named
                yield benchmark(name)
