"""`NASBench` with the calls of `nasbench.api`: queries answered from a table, trainings by this package's trainer."""

from collections.abc import KeysView, Mapping
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from nasbench1shot1.api.model_spec import ModelSpec, encoding_of
from nasbench1shot1.api.statistics import Computed, RowReader, Statistics, UnknownCellError, n_edges, row_of_hash
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, UserError, quote
from nasbench1shot1.ground.files import as_path, write_json
from nasbench1shot1.ground.text import counted
from nasbench1shot1.nasbench101.benchmark import BENCHMARK
from nasbench1shot1.nasbench101.cell import INPUT, MAX_EDGES, MAX_VERTICES, OPERATIONS, OUTPUT
from nasbench1shot1.tables.table import Table

if TYPE_CHECKING:
    from nasbench1shot1.nasbench101.training_options import TrainingConfig

METADATA, TRAINING = "metadata.json", "training"
_FIXED = {"lr_decay_method": "COSINE_BY_STEP", "intermediate_evaluations": ["0.5"]}


class UnknownRepeatError(OutOfDomainError, IndexError):
    """A repeat that the table lacks was drawn; also an IndexError, which the published package raises."""


class NASBench:
    """The NAS-Bench-101 data set, which counts the simulated cost of its queries.

    Args:
        dataset_file: an official file (`.tfrecord`), which is imported on first use and then opened from the imported
            table; the folder or name of a table; or a Table.
        seed: random seed for the repeats that `query` draws: a seed of `random.Random`, or a numpy Generator to draw
            from. The same seed and queries give the same answers. Default: a different seed each time.

    Attributes:
        config: see `api.nasbench.build_config`.
        valid_epochs: the set of budgets, in epochs.
        training_time_spent, total_epochs_spent: seconds and epochs of all queries since the last reset.
        fixed_statistics, computed_statistics: by hash, what `get_metrics_from_hash` returns; read-only.
        history: an empty dictionary, for the user.
        table: the Table that answers.

    Raises:
        InvalidInputError, DamagedFileError: the file or table does not exist, is damaged or has several data sets, or
            the seed is invalid.
    """

    def __init__(self, dataset_file: str | Path | Table, seed: Any = None) -> None:
        self.table = _open_cached(dataset_file)
        self.config = build_config(self.table.repeats)
        self.valid_epochs = set(self.table.epochs)
        self.history: dict[str, Any] = {}
        self._random = _generator(seed)
        self._read = RowReader(self.table)
        self.reset_budget_counters()
        if predicted := self.table.fidelity(max(self.table.epochs)):
            warn(f"the table {self.table.id} holds estimates: {predicted}", stacklevel=2)

    @property
    def fixed_statistics(self) -> Statistics:
        """The values independent of training, by hash: module_adjacency, module_operations, trainable_parameters."""
        return Statistics(self.table, self._read.fixed)

    @property
    def computed_statistics(self) -> Statistics:
        """The metrics of each repeat, half-way and at the end of training, by hash and epochs."""
        return Statistics(self.table, self._read.computed)

    # Queries of search methods ---------------------------------------------------------------------------------

    def query(self, model_spec: Any, epochs: int = 108, stop_halfway: bool = False) -> dict[str, Any]:
        """Return the metrics of one training of a model, a random repeat, and add its cost to the counters.

        Args:
            model_spec: a ModelSpec.
            epochs: one of `valid_epochs`.
            stop_halfway: return the metrics half-way through the training, at the cost of half the epochs.

        Returns:
            module_adjacency (V, V) int8, module_operations, trainable_parameters, training_time (seconds),
            train_accuracy, validation_accuracy, test_accuracy (fractions). Metrics that the table lacks are omitted.

        Raises:
            OutOfDomainError: the table lacks the budget, the model or the half-way values.
            UnknownRepeatError: (an OutOfDomainError and an IndexError) `config["num_repeats"]` is larger than the
                table's number of repeats, and a repeat is drawn that the table lacks.
        """
        if not any(epochs is known or (np.isscalar(epochs) and epochs == known) for known in self.valid_epochs):
            raise OutOfDomainError(f"there is no budget of {epochs!r} epochs: use one of {sorted(self.valid_epochs)}")
        row = self._row(model_spec)
        values = self._draw_training(row, int(epochs), bool(stop_halfway))
        if not values and stop_halfway:
            raise self._no_halfway_error(row, int(epochs))
        self.training_time_spent += values.get("training_time", 0.0)
        self.total_epochs_spent += epochs // 2 if stop_halfway else epochs
        return self._read.fixed(row) | values

    def is_valid(self, model_spec: Any) -> bool:
        """Return whether the table has a model; costs no budget."""
        try:
            self._row(model_spec)
        except OutOfDomainError:
            return False
        return True

    def get_budget_counters(self) -> tuple[float, int]:
        """Return the simulated training time in seconds and the epochs of all queries since the last reset."""
        return self.training_time_spent, self.total_epochs_spent

    def reset_budget_counters(self) -> None:
        """Set both counters to zero."""
        self.training_time_spent, self.total_epochs_spent = 0.0, 0

    # Queries of analyses ---------------------------------------------------------------------------------------

    def hash_iterator(self) -> KeysView[str]:
        """Return all hashes, in the order of the official file."""
        return self.fixed_statistics.keys()

    def get_metrics_from_hash(self, module_hash: str) -> tuple[dict[str, Any], Computed]:
        """Return a model's fixed values, and by epochs the metrics of every repeat; costs no budget.

        Raises:
            UnknownCellError: (an OutOfDomainError and a KeyError) the hash is not in the table.
        """
        row = row_of_hash(self.table, module_hash)
        return self._read.fixed(row), self._read.computed(row)

    def get_metrics_from_spec(self, model_spec: Any) -> tuple[dict[str, Any], Computed]:
        """Do what `get_metrics_from_hash` does, for a ModelSpec; raises OutOfDomainError for an unknown model."""
        row = self._row(model_spec)
        return self._read.fixed(row), self._read.computed(row)

    def evaluate(self, model_spec: Any, model_dir: str | Path) -> dict[str, Any]:
        """Train a model from scratch, without using the table; see `api.nasbench.evaluate`."""

        return evaluate(model_spec, as_path(model_dir, "model_dir"), self.config, seed=self._draw_number(2**31))

    # Helpers ---------------------------------------------------------------------------------------------------

    def _draw_training(self, row: int, epochs: int, halfway: bool) -> dict[str, float]:
        """Return the known metrics of a random repeat of a row."""
        drawn, repeats = self._draw_number(self.config["num_repeats"]), self.table.repeats
        if drawn >= repeats:
            raise UnknownRepeatError(
                f"config['num_repeats'] is {self.config['num_repeats']}, but the table {self.table.id} has "
                f"{counted(repeats, 'repeat')}: set it to at most {repeats}"
            )
        if values := self._read.training(row, epochs, drawn, halfway):
            return values
        trained = self.table.trained_repeats(row, epochs)  # some tables lack repeats of some rows
        others = [found for repeat in trained if (found := self._read.training(row, epochs, repeat, halfway))]
        return others[self._draw_number(len(others))] if others else {}

    def _no_halfway_error(self, row: int, epochs: int) -> OutOfDomainError:
        """Return the error for half-way values that a row, or the whole table, lacks at this budget."""
        if not self._read.metrics_at(epochs, halfway=True):
            at = f" at {epochs} epochs" if self._read.has_halfway else ""
            return OutOfDomainError(f"the table {self.table.id} has no half-way values{at}: set stop_halfway=False")
        return OutOfDomainError(
            f"the table {self.table.id} has no half-way values of the cell {self.table.hashes([row])[0]} at {epochs} "
            "epochs: set stop_halfway=False for this model"
        )

    def _draw_number(self, below: int) -> int:
        """Return a random number below a limit, drawn in the same way as the published package draws repeats."""
        if isinstance(self._random, Random):
            return self._random.randint(0, below - 1)
        return int(self._random.integers(below))

    def _row(self, spec: Any) -> int:
        """Return the row of a spec, found by its encoding or, without one, by its hash."""
        code = spec.encoding if isinstance(spec, ModelSpec) else _encoding_of_other(spec)
        if not code or not self._has_default_limits():
            self._check(spec)
            return row_of_hash(self.table, self._hash(spec))
        if n_edges(code) > MAX_EDGES:  # no table has it: raise without a look-up
            self._check(spec)
        try:
            return self.table.row_of_encoding(code)
        except OutOfDomainError as error:
            self._check(spec)
            raise UnknownCellError(quote(error)) from None

    def _hash(self, spec: Any) -> str:
        try:
            return str(spec.hash_spec(self.config["available_ops"]))
        except InvalidInputError as error:  # a modified spec may not be a valid graph any more
            raise OutOfDomainError(quote(error)) from None

    def _has_default_limits(self) -> bool:
        config = self.config
        limits = config["module_vertices"], config["max_edges"], *config["available_ops"]
        return limits == (MAX_VERTICES, MAX_EDGES, *OPERATIONS)

    def _check(self, spec: Any) -> None:
        """Raise OutOfDomainError for a spec outside the limits that `config` gives."""
        if not spec.valid_spec:
            raise OutOfDomainError("no path leads from the input to the output of this spec: connect the two")
        vertices, edges = len(spec.ops), np.sum(spec.matrix)
        most_vertices, most_edges = self.config["module_vertices"], self.config["max_edges"]
        if vertices > most_vertices:
            raise OutOfDomainError(f"the spec has {vertices} vertices after pruning: at most {most_vertices} are valid")
        if edges > most_edges:
            raise OutOfDomainError(f"the spec has {edges} edges after pruning: at most {most_edges} are valid")
        if spec.ops[0] != INPUT or spec.ops[-1] != OUTPUT:
            raise OutOfDomainError(f"the first op must be '{INPUT}' and the last '{OUTPUT}', not {spec.ops}")
        for op in spec.ops[1:-1]:
            if op not in self.config["available_ops"]:
                raise OutOfDomainError(f"unknown op {op!r}: use one of {self.config['available_ops']}")


def build_config(repeats: int = 3) -> dict[str, Any]:
    """Return a new dictionary with the keys and default values of the published package.

    `module_vertices`, `max_edges` and `available_ops` limit which models are valid, and `num_repeats` limits the
    repeats that `query` draws from. The others describe the training; `evaluate` uses the ones that it needs.

    Args:
        repeats: number of repeats in the table.
    """
    data: dict[str, Any] = {
        "train_data_files": [],
        "valid_data_file": "",
        "test_data_file": "",
        "sample_data_file": "",
        "data_format": "channels_last",
        "num_labels": 10,
    }
    space = {"module_vertices": MAX_VERTICES, "max_edges": MAX_EDGES, "available_ops": list(OPERATIONS)}
    network = {"stem_filter_size": 128, "num_stacks": 3, "num_modules_per_stack": 3}
    training = {
        "batch_size": 256,
        "train_epochs": 108,
        "train_seconds": 4.0 * 60 * 60,
        "learning_rate": 0.1,
        "lr_decay_method": "COSINE_BY_STEP",
        "momentum": 0.9,
        "weight_decay": 1e-4,
        "max_attempts": 5,
        "intermediate_evaluations": ["0.5"],
        "num_repeats": repeats,
    }
    accelerator = {"use_tpu": True, "tpu_iterations_per_loop": 100, "tpu_num_shards": 2}
    return data | space | network | training | accelerator


def evaluate(model_spec: Any, model_dir: Path, config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train a model from scratch with NAS-Bench-101's training protocol, on CPU or GPU.

    Writes `metadata.json` into `model_dir`, next to the folder `training`, which records the training. If the training
    is interrupted, `nb1shot1 train --resume` continues it from there.

    Args:
        model_spec: a ModelSpec with any number of vertices and edges.
        model_dir: folder for the results, created if necessary; must not contain a training yet.
        config: see `api.nasbench.build_config`. The first entry of `train_data_files` is an image set of this package
            (a name or an `.npz` file); if there is none, the official CIFAR-10 is used. Other data keys are ignored.
        seed: random seed of the training.

    Returns:
        A dictionary with the same keys as the result of `NASBench.query`.

    Raises:
        UserError: the graph has no path from input to output, the trainer does not support a setting, images are
            missing, the folder already contains a training, the loss is NaN or infinite, or the disk is full.
    """
    from nasbench1shot1.cell_training.training import train_and_evaluate

    training = train_and_evaluate(model_spec, training_config(config, seed), model_dir / TRAINING)
    evaluations = [asdict(one) for one in (training.initial, training.halfway, training.final)]
    final = evaluations[-1]
    metadata = {
        "trainable_params": training.trainable_parameters,
        "total_time": final["training_time"],
        "evaluation_results": evaluations,
    }
    write_json(model_dir / METADATA, metadata)
    return {
        "module_adjacency": model_spec.matrix,
        "module_operations": model_spec.ops,
        "trainable_parameters": training.trainable_parameters,
        **{name: final[name] for name in ("training_time", "train_accuracy", "validation_accuracy", "test_accuracy")},
    }


def training_config(config: Mapping[str, Any], seed: int) -> "TrainingConfig":
    """Return the trainer's options that correspond to published settings.

    The published code multiplies the learning rate by the number of accelerator shards: 0.1 × 2 = 0.2.

    Raises InvalidInputError for a setting that the trainer does not support, UserError for a missing one.
    """
    from nasbench1shot1.nasbench101.training_options import TrainingConfig

    try:
        for name, only in _FIXED.items():
            if config[name] != only:
                raise InvalidInputError(f"config['{name}'] cannot be {config[name]!r}: this trainer only has {only!r}")
        return TrainingConfig.from_options(
            {
                "epochs": config["train_epochs"],
                "seed": seed,
                "images": str(next(iter(config["train_data_files"]), "cifar10")),
                "stem_channels": config["stem_filter_size"],
                "stacks": config["num_stacks"],
                "cells_per_stack": config["num_modules_per_stack"],
                "batch_size": config["batch_size"],
                "learning_rate": config["learning_rate"] * (config["tpu_num_shards"] if config["use_tpu"] else 1),
                "momentum": config["momentum"],
                "weight_decay": config["weight_decay"],
            }
        )
    except KeyError as error:
        raise UserError(f"config lacks {error}: start from the result of build_config()") from None


def _open_cached(dataset_file: str | Path | Table) -> Table:
    table = _table(dataset_file)
    if table.benchmark != BENCHMARK:
        raise InvalidInputError(f"the table {table.id} belongs to another benchmark: open a table of NAS-Bench-101")
    if len(table.datasets) > 1:
        raise InvalidInputError(
            f"the table {table.id} has trainings on several data sets, but NASBench needs a table with one data set: "
            "select the rows of one in the result of to_frame, and give them to nb.table_from_frame"
        )
    return table


def _table(dataset_file: str | Path | Table) -> Table:
    if isinstance(dataset_file, Table):
        return dataset_file
    from nasbench1shot1.tables.importing import open_official

    if not isinstance(dataset_file, (str, Path)):
        raise InvalidInputError(f"dataset_file cannot be {dataset_file!r}: give a path, a table's name or a Table")
    return open_official(dataset_file)


def _generator(seed: Any) -> Random | np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return Random(seed.item() if isinstance(seed, np.generic) else seed)
    except TypeError:
        raise InvalidInputError(f"seed cannot be {seed!r}: give a whole number, or a numpy Generator") from None


def _encoding_of_other(spec: Any) -> int:
    """Return the encoding of another object with a ModelSpec's attributes, such as the published package's."""
    if not hasattr(spec, "valid_spec") or not hasattr(spec, "hash_spec"):
        raise InvalidInputError(f"{spec!r} is not a model: give a ModelSpec")
    return encoding_of(spec)
