"""A group of trainings in one folder, one for each of several networks and seeds: its record, frame and table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

from nasbench1shot1.benchmark import Benchmark, benchmark
from nasbench1shot1.cell_training.options import TrainingOptions
from nasbench1shot1.cell_training.record import ACCURACIES, Training, load_training
from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.text import percent
from nasbench1shot1.ground.values import independent
from nasbench1shot1.jobs.job import is_finished, is_started
from nasbench1shot1.runs.folder import TRAININGS, read_object
from nasbench1shot1.runs.group import RunGroup, are_seeds
from nasbench1shot1.runs.record import ObjectOf, listed_options

if TYPE_CHECKING:
    import pandas

    from nasbench1shot1.tables.table import Table

FOLDER, ARCHITECTURE = "folder", "architecture"
"""Fields of a network in trainings.json besides the fields that config.json has: its folder, and the text of its
architecture, which is null if a cell was given."""


@dataclass(frozen=True, eq=False)
class TrainingGroup(RunGroup[Training]):
    """Read-only view of a folder of trainings, which `nb.train_cells` and `train --list` write.

    A group is a sequence of its `runs`, the trainings that have begun: `group[0]` is the first one.

    Attributes:
        folder: the folder of the group.
        benchmark: the benchmark of the networks.
        networks: for each network its folder, the text of its architecture, and the fields that identify it in
            config.json.
        seeds: the random seeds of the trainings, ascending.
        options: the options that all trainings share, including defaults.
    """

    DRAWING = "nasbench1shot1.cell_training.drawing:draw_training"

    benchmark: Benchmark
    _networks: tuple[Mapping[str, Any], ...]
    seeds: tuple[int, ...]
    _options: dict[str, Any]

    @property
    def networks(self) -> tuple[Mapping[str, Any], ...]:
        """For each network its folder, the text of its architecture, and the fields that identify it in config.json."""
        return independent(self._networks)

    def __repr__(self) -> str:
        planned = len(self.networks) * len(self.seeds)
        finished = sum(is_finished(folder) for *_, folder in self.places())
        what = f"{len(self.networks)} {self.benchmark.networks[1]} × {len(self.seeds)} seeds"
        return f"TrainingGroup('{self.folder}': {what}, {finished} of {planned} trainings finished)"

    def _heading(self) -> str:
        return f"Group of trainings: {len(self.networks)} {self.benchmark.networks[1]} × {len(self.seeds)} seeds"

    def _facts(self) -> dict[str, str]:
        trainings = [load_training(folder) for *_, folder in self.places() if is_finished(folder)]
        if len(trainings) < len(self.networks) * len(self.seeds):
            return {}
        facts = {"folder": str(self.folder), "options": listed_options(trainings[0].config, Training.SHOWN)}
        for name in reversed(ACCURACIES):
            values = [training.summary[name] for training in trainings]
            if None not in values:
                of = f"{percent(min(values))} to {percent(max(values))}, mean {percent(fmean(values))}"
                facts[name.replace("_", " ")] = f"{of} (measured; n = {len(values)})"
        return facts

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a group's folder for reading.

        Raises:
            InvalidInputError: the folder does not contain a group of trainings.
            DamagedFileError: trainings.json is damaged.
        """
        path = as_path(folder, "folder")
        recorded = path / TRAININGS
        if not recorded.is_file():
            raise InvalidInputError(f"'{path}' is not a group of trainings: {TRAININGS} is missing")
        content = read_object(recorded)
        try:
            found = benchmark(content["benchmark"])
            networks, seeds, options = content["networks"], content["seeds"], content["options"]
            if not (are_seeds(seeds) and isinstance(options, dict) and networks and all(map(_is_network, networks))):
                raise ValueError
            return cls(path, found, tuple(networks), tuple(seeds), options)
        except (KeyError, TypeError, ValueError, UserError) as error:
            raise DamagedFileError(f"{recorded} is damaged: restore it, or read its trainings one by one") from error

    def content(self) -> dict[str, Any]:
        """Return the content of trainings.json."""
        return {
            "benchmark": self.benchmark.name,
            "networks": list(self.networks),
            "seeds": list(self.seeds),
            "options": self.options,
        }

    def places(self) -> Iterator[tuple[Mapping[str, Any], int, Path]]:
        """Iterate over the trainings, seed by seed: the network, the seed, and the folder."""
        for seed in self.seeds:
            for network in self.networks:
                yield network, seed, self.folder / network[FOLDER] / f"seed-{seed}"

    def _started_runs(self) -> list[Training]:
        return [load_training(folder) for *_, folder in self.places() if is_started(folder)]

    @property
    def is_finished(self) -> bool:
        """Whether all trainings are finished."""
        return all(is_finished(folder) for *_, folder in self.places())

    @property
    def protocol(self) -> type[TrainingOptions]:
        """The class of the benchmark's training options."""
        options: type[TrainingOptions] = self.benchmark.load("training")
        return options

    def network(self, entry: Mapping[str, Any]) -> Any:
        """Return the Architecture or Cell of one of `networks`; raises DamagedFileError if it is invalid."""
        return decoded_network(self.benchmark, entry, self.folder)

    def to_frame(self) -> "pandas.DataFrame":
        """Return a data frame with a row for every finished training: network, final metrics, seed and all options.

        Accuracies are fractions, and `training_time` is in seconds on the machine that trained the network.
        """
        import pandas

        metrics = (
            *("validation_accuracy", "test_accuracy", "train_accuracy", "training_time"),
            *("trainable_parameters", "flops"),
        )
        rows = []
        for entry, seed, folder in self.places():
            if not is_finished(folder):
                continue
            training = load_training(folder)
            found = {name: training.summary.get(name) for name in metrics}
            told = {"network": training.network_id, "architecture": entry[ARCHITECTURE], "seed": seed}
            options = {name: of for name, of in self.options.items() if name != "seed"}
            if "dataset" in options:
                options["dataset"] = training.dataset  # own images have another data set than the option
            rows.append({**told, **found, **options})
        columns = ("network", "architecture", "seed", *metrics, *(name for name in self.options if name != "seed"))
        return pandas.DataFrame(rows, columns=list(columns))

    def table(self, name: str | None = None) -> "Table":
        """Return a table in memory with a row for each network and a repeat for each seed.

        Values of trainings that are not finished are NaN. Networks without a finished training are left out.

        Args:
            name: the name of the table. Default: the name of the folder.

        Raises InvalidInputError if no training is finished.
        """
        from nasbench1shot1.cell_training.tabulating import tabulate
        from nasbench1shot1.tables.table import Table

        finished: dict[str, dict[int, Training]] = {}
        for entry, seed, folder in self.places():
            if is_finished(folder):
                finished.setdefault(entry[FOLDER], {})[self.seeds.index(seed)] = load_training(folder)
        if not finished:
            raise InvalidInputError(f"no training in '{self.folder}' is finished: train its networks first")
        known = [entry for entry in self.networks if entry[FOLDER] in finished]
        trainings = {(i, k): of for i, entry in enumerate(known) for k, of in finished[entry[FOLDER]].items()}
        networks, named = [self.network(entry) for entry in known], name or self.folder.resolve().name
        return Table.from_columns(*tabulate(named, self.benchmark, networks, self.seeds, self.options, trainings))


def _is_network(entry: Any) -> bool:
    """Return whether a JSON value can be an entry of `TrainingGroup.networks`, with a name of a sub-folder."""
    is_object = ObjectOf(fields=((FOLDER, str), (ARCHITECTURE, str | None))).holds(entry)
    return is_object and entry[FOLDER] == Path(entry[FOLDER]).name


def decoded_network(of: Benchmark, entry: Mapping[str, Any], where: Path) -> Any:
    """Return the Architecture or Cell of an entry of `TrainingGroup.networks`; raises DamagedFileError."""
    record: type[Training] = of.load("training").record()
    named = entry.get(ARCHITECTURE)
    try:
        return record(where, dict(entry)).trained if named is None else of.load("architecture").parse(named)
    except (UserError, KeyError) as error:
        what = f"'{named}' is not an architecture" if named else f"the network in {entry[FOLDER]} is impossible"
        raise DamagedFileError(f"{where / TRAININGS} is damaged ({what}): restore it") from error
