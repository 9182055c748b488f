"""The official files of NAS-Bench-201, and NATS-Bench's archives of the topology space."""

import bz2
import math
import re
import zipfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.ground.errors import DamagedFileError, InvalidInputError, UserError
from nasbench1shot1.ground.files import blocked_error, open_regular, reason
from nasbench1shot1.ground.plain_pickle import load_plain_pickle
from nasbench1shot1.nasbench201.architecture import EdgeArchitecture
from nasbench1shot1.nasbench201.benchmark import CLASSES, DATASETS, EPOCHS, IMAGES, OBJECTIVES, OFFICIAL_SETS, SEEDS
from nasbench1shot1.nasbench201.cost import edge_parameter_count
from nasbench1shot1.nasbench201.numbering import N_ARCHITECTURES, all_operations, index_of
from nasbench1shot1.tables.columns import STANDARD, standard, stored_counts, to_counts
from nasbench1shot1.tables.description import MEMBER, Meta
from nasbench1shot1.tables.folder import Columns
from nasbench1shot1.tables.formats import FileFormat, Progress, Report, Source, compact

VERSION = "1"
NATS_META = "meta.pickle.pbz2"
"""The file that identifies a folder as an archive of NATS-Bench."""
PBZ2 = ".pbz2"


class TrialFiles(FileFormat):
    """A format whose files contain trainings with one to three seeds."""

    @abstractmethod
    def read_trials(self, source: Source, progress: Progress) -> "TrialAssembly":
        """Read the trainings of a file; raises the errors of `read`."""

    def read(
        self, source: Source, epochs: Sequence[int] | None, report: Report, progress: Progress
    ) -> tuple[Columns, Meta]:
        """Read all trainings with 12 and 200 epochs; `epochs` must be None."""
        if epochs is not None:
            raise InvalidInputError(
                f"epochs do not apply to {source.path.name}, because NAS-Bench-201's files have 12 and 200: remove "
                "epochs"
            )
        assembly = self.read_trials(source, progress)
        columns, meta = assembly.finish()
        if assembly.left_out:
            report(
                f"{source.path.name}: omitted {assembly.left_out:,} trainings with budgets other than 12 and 200 epochs"
            )
        about = source.describe(len(assembly))
        return columns, {"name": self.table_name(source.path), "version": VERSION, **meta, "source": about}


class PthFiles(TrialFiles):
    """NAS-Bench-201-v1_0-e61699.pth and NAS-Bench-201-v1_1-096897.pth.

    Each contains a dictionary with `meta_archs`, the strings of all architectures, and `arch2infos`: for each index,
    "less" for the trainings with 12 epochs and "full" for the trainings with 200 epochs.
    """

    example = "a .pth file of NAS-Bench-201"

    def recognises(self, path: Path) -> bool:
        """Return whether the suffix is .pth, and the path is not a folder."""
        return path.suffix == ".pth" and not path.is_dir()

    def read_trials(self, source: Source, progress: Progress) -> "TrialAssembly":
        """Read a file with PyTorch's restricted loader, which runs no code from the file.

        Raises:
            DamagedFileError: the file is truncated or damaged.
            InvalidInputError: the file is not a NAS-Bench-201 file, or contains unexpected objects.
            UserError: PyTorch is too old.
        """
        source.hash_all(progress)
        progress("loading", None)
        return assemble(_load(source.path), source.path.name, progress)


class NATSArchives(TrialFiles):
    """NATS-Bench's archives of the topology space: compressed pickles of plain data, from which no code is run.

    An archive is an unpacked folder with one file per architecture, or a single file of all architectures.
    """

    example = "an archive of NATS-Bench"

    def recognises(self, path: Path) -> bool:
        """Return whether a file's suffix is .pbz2 or .tar, or a folder has an archive's list of architectures."""
        return (path / NATS_META).is_file() if path.is_dir() else path.suffix in (PBZ2, ".tar")

    def files(self, path: Path) -> list[Path]:
        """Return the archive's files."""
        return sorted(path.glob(f"*{PBZ2}")) if path.is_dir() else [path]

    def table_name(self, path: Path) -> str:
        """Return the file's name without its suffixes, or the folder's name."""
        return path.name.removesuffix(".pickle.pbz2") if path.suffix == PBZ2 else path.stem

    def read_trials(self, source: Source, progress: Progress) -> "TrialAssembly":
        """Read an archive.

        Raises:
            DamagedFileError: a file is truncated, damaged or missing.
            InvalidInputError: the file is not an archive of the topology space, has other objects than plain data, or
                is packed.
        """
        if source.path.suffix == ".tar":
            raise InvalidInputError(f"{source.path} is packed: unpack it, and give the folder that it contains")
        if not source.is_folder:
            source.hash_all(progress)
            progress("loading", None)
            return assemble(_load_pbz2(source.path), source.path.name, progress)
        meta, indices = _load_pbz2(source.path / NATS_META), _indices(source.path)
        content = {"meta_archs": meta.get("meta_archs")} if isinstance(meta, Mapping) else {}
        assembly = TrialAssembly(source.path.name)
        for done, index in enumerate(indices):
            one = {**content, "arch2infos": {index: _load_pbz2(source.path / f"{index:06d}.pickle{PBZ2}")}}
            assemble(one, source.path.name, assembly=assembly)
            progress("reading", (done + 1) / len(indices))
        return assembly


PTH, NATS_ARCHIVE = PthFiles(), NATSArchives()


METRICS = tuple(name for name, about in STANDARD.items() if about.fidelity == "measured")
"""The metrics of a training: accuracies, losses and times."""


def final_values(fields: Mapping[str, Any], dataset: str) -> list[float]:
    """Return the metrics at the end of a training, in the order of `METRICS`; NaN if unknown.

    Args:
        fields: fields of the official `ResultsCount`.
        dataset: one of `nasbench201.benchmark.DATASETS`.

    Raises:
        InvalidInputError: an accuracy, loss or time is impossible.
        KeyError, TypeError, ValueError, AttributeError: the fields have another format.
    """
    epochs = int(fields["epochs"])
    found = {
        "train_accuracy": fields["train_acc1es"][epochs - 1] / 100,
        "train_loss": fields["train_losses"][epochs - 1],
        "training_time": _total(fields["train_times"], range(epochs)),
    }
    for split in ("validation", "test"):
        last = f"{OFFICIAL_SETS[dataset].get(split)}@{epochs - 1}"
        found[f"{split}_accuracy"] = fields["eval_acc1es"].get(last, math.nan) / 100
        found[f"{split}_loss"] = fields["eval_losses"].get(last, math.nan)
    evaluations = [f"{OFFICIAL_SETS[dataset].get('validation')}@{epoch}" for epoch in range(epochs)]
    found["evaluation_time"] = _total(fields["eval_times"], evaluations)
    return [_possible(metric, float(found[metric])) for metric in METRICS]


def _total(seconds: Mapping[Any, float] | None, keys: Any) -> float:
    """Return the sum over all keys; NaN if a key is missing, as in older files."""
    return sum(seconds[key] for key in keys) if seconds and all(key in seconds for key in keys) else math.nan


def _possible(metric: str, value: float) -> float:
    is_accuracy = STANDARD[metric].quantity == "accuracy"
    highest = 1 + 1e-6 if is_accuracy else math.inf
    if value < 0 or value > highest or math.isinf(value):
        raise InvalidInputError(f"has a {metric.replace('_', ' ')} of {value:g}, which is impossible")
    return min(value, 1.0) if is_accuracy else value


# Assembly of columns from single trainings, with a repeat for each seed -----------------------------------------------


_LEGACY_SEED = 888
"""If an architecture's trainings state different costs, the official API uses the value of this seed."""


class TrialAssembly:
    """Collects the final values of every training (about 35 MB) by architecture, data set, budget and seed.

    Args:
        source: name of the file, for messages.

    Attributes:
        left_out: number of omitted trainings, whose budgets are not 12 or 200 epochs.
    """

    def __init__(self, source: str) -> None:
        self.left_out = 0
        self._source, self._trainings = source, 0
        shape = N_ARCHITECTURES, len(DATASETS)
        self._values = np.full((*shape, len(EPOCHS), len(SEEDS), len(METRICS)), np.nan)
        self._costs = np.full((*shape, 2), np.nan)
        """Parameters and FLOPs, in millions."""
        self._is_known = np.zeros(N_ARCHITECTURES, bool)

    def __len__(self) -> int:
        return self._trainings

    def add(self, architecture: Any, trainings: Mapping[Any, Mapping[str, Any]]) -> None:
        """Add the trainings of an architecture.

        Args:
            architecture: its official string.
            trainings: the fields of the official `ResultsCount`, by data set and seed.

        Raises:
            InvalidInputError: the string, a data set or a seed is unknown; a training lacks a field, or has an
                impossible value.
        """
        row = self._row(architecture)
        for key, fields in trainings.items():
            try:
                self._add_training(row, key, fields)
            except InvalidInputError as error:
                raise InvalidInputError(f"{self._source}: the training {key} of {architecture} {error}") from None
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise InvalidInputError(
                    f"{self._source}: the training {key} of {architecture} does not have the format of NAS-Bench-201's "
                    f"files ({type(error).__name__}: {reason(error)}): download the file again"
                ) from error

    def _row(self, architecture: Any) -> int:
        try:
            found = EdgeArchitecture.from_text(architecture)
        except (InvalidInputError, TypeError):
            found = None
        if found is None:
            raise InvalidInputError(f"{self._source} has {architecture!r}, which is not a NAS-Bench-201 architecture")
        return index_of(found.operations)

    def _add_training(self, row: int, key: tuple[str, int], fields: Mapping[str, Any]) -> None:
        dataset, seed = key
        if dataset not in DATASETS or seed not in SEEDS:
            raise InvalidInputError(f"does not have a data set of {', '.join(DATASETS)} and a seed of {SEEDS}")
        epochs = int(fields["epochs"])
        if epochs not in EPOCHS:
            self.left_out += 1
            return
        place = row, DATASETS.index(dataset)
        self._values[(*place, EPOCHS.index(epochs), SEEDS.index(seed))] = final_values(fields, dataset)
        if seed == _LEGACY_SEED or np.isnan(self._costs[place]).any():
            self._costs[place] = _possible_costs(fields)
        self._is_known[row] = True
        self._trainings += 1

    def finish(self) -> tuple[Columns, Meta]:
        """Arrange the trainings.

        Returns:
            The columns of a table, and its description without name and version.

        Raises InvalidInputError if there are no trainings with 12 or 200 epochs.
        """
        rows = np.flatnonzero(self._is_known)
        if not len(rows):
            raise InvalidInputError(f"{self._source} has no trainings with 12 or 200 epochs")
        columns: Columns = {"index": rows.astype(np.uint16)}
        about: dict[str, dict[str, Any]] = {"index": _exact("the official index")}
        if len(rows) == N_ARCHITECTURES:
            columns[f"{MEMBER}nb201"], about[f"{MEMBER}nb201"] = rows.astype(np.uint16), _exact("all rows")
        for d, dataset in enumerate(DATASETS):
            self._add_metrics(rows, d, columns, about)
            parameters, flops = self._costs_of(rows, d)
            name = f"{dataset}.trainable_parameters"
            columns[name] = parameters
            about[name] = standard("trainable_parameters", dataset).entry(
                sources=[], method="as the file states them; counted where it does not"
            )
            if flops is not None:
                name = f"{dataset}.flops"
                columns[name] = flops
                about[name] = standard("flops", dataset).entry(sources=[], method="as the file states them")
        trained = self._values[rows]
        epochs = [e for i, e in enumerate(EPOCHS) if not np.isnan(trained[:, :, i]).all()]
        return columns, {
            "keyed_by": "nasbench201",
            "datasets": list(DATASETS),
            "objectives": list(OBJECTIVES),
            "epochs": epochs,
            "repeats": len(SEEDS),
            "seeds": list(SEEDS),
            "spaces": ["nb201"] if len(rows) == N_ARCHITECTURES else [],
            "columns": about,
        }

    def _add_metrics(self, rows: NDArray[np.int64], d: int, columns: Columns, about: dict[str, dict[str, Any]]) -> None:
        """Add the columns of a data set that have values, at the budgets that have values."""
        for m, metric in enumerate(METRICS):
            values = self._values[rows, d, :, :, m]
            there = [i for i in range(len(EPOCHS)) if not np.isnan(values[:, i]).all()]
            if not there:
                continue
            name, values = f"{DATASETS[d]}.{metric}", values[:, there]
            columns[name], stored = _compact(values, _images(DATASETS[d], metric))
            known = {str(EPOCHS[i]): int((~np.isnan(values[:, k])).sum()) for k, i in enumerate(there)}
            is_sum = STANDARD[metric].unit == "s"
            about[name] = standard(metric, DATASETS[d], epochs=tuple(EPOCHS[i] for i in there)).entry(
                sources=[],
                method="sum over all epochs" if is_sum else "at the end of training",
                known=known,
                **stored,
            )

    def _costs_of(self, rows: NDArray[np.int64], d: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the parameters, counted if the file does not state them, and the FLOPs, None if no row has them."""
        parameters, flops = np.rint(1e6 * self._costs[rows, d]).T

        for i in np.flatnonzero(np.isnan(parameters)):
            parameters[i] = edge_parameter_count(all_operations()[rows[i]].tolist(), classes=CLASSES[DATASETS[d]])
        if np.isnan(flops).any():
            return parameters.astype(np.int32), None if np.isnan(flops).all() else flops
        return parameters.astype(np.int32), flops.astype(np.int32)


def _possible_costs(fields: Mapping[str, Any]) -> tuple[float, float]:
    """Return parameters and FLOPs in millions, NaN if unknown; raises InvalidInputError for impossible numbers."""
    costs = float(fields["params"]), float(fields["flop"])
    for name, millions in zip(("parameters", "FLOPs"), costs, strict=True):
        if not (math.isnan(millions) or 0 <= 1e6 * millions < 2**31):
            raise InvalidInputError(f"has {millions:g} million {name}, which is impossible")
    return costs


def _images(dataset: str, metric: str) -> int | None:
    """Return the number of images of an accuracy; None for other metrics."""
    about = STANDARD[metric]
    return IMAGES[dataset].get(str(about.split)) if about.quantity == "accuracy" else None


def _exact(method: str) -> dict[str, Any]:
    return {"fidelity": "exact", "sources": [], "method": method}


def _compact(values: NDArray[np.float64], images: int | None) -> tuple[NDArray[Any], dict[str, Any]]:
    """Store accuracies as image counts if possible, and other values in the smallest exact type."""
    counts = to_counts(values, images) if images else None
    if images is None or counts is None:
        return compact(values)
    return stored_counts(counts, images), {"images": images}


# Loading of .pth files ------------------------------------------------------------------------------------------------


_NEEDED = ("meta_archs", "arch2infos")


def assemble(
    content: Any,
    source: str,
    progress: Progress = lambda doing, fraction: None,
    assembly: TrialAssembly | None = None,
) -> TrialAssembly:
    """Collect the trainings of a loaded file, or of a dictionary in the same format.

    Args:
        content: the dictionary. NATS-Bench's dictionary has budgets instead of "less" and "full".
        source: name of the file or dictionary, for messages.
        progress: receives the fraction done.
        assembly: the trainings collected so far, to which these are added. Default: none.

    Raises InvalidInputError if the dictionary has another format.
    """
    if not isinstance(content, Mapping) or any(key not in content for key in _NEEDED):
        raise InvalidInputError(
            f"{source} is not a NAS-Bench-201 file (it lacks meta_archs or arch2infos): give a file such as "
            "NAS-Bench-201-v1_1-096897.pth"
        )
    assembly, names = TrialAssembly(source) if assembly is None else assembly, content["meta_archs"]
    try:
        for done, (index, results_by_budget) in enumerate(content["arch2infos"].items()):
            if index < 0:
                raise IndexError(f"index {index}")
            for results in results_by_budget.values():
                assembly.add(names[index], results["all_results"])
                if results.get("arch_str", names[index]) != names[index]:
                    raise InvalidInputError(
                        f"{source} has the trainings of {results['arch_str']} at index {index}, which belongs to "
                        f"{names[index]}: its files were exchanged; copy or download it again"
                    )
            progress("gathering", (done + 1) / len(content["arch2infos"]))
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{source} is not a NAS-Bench-201 file ({type(error).__name__}: {reason(error)}): give a file such as "
            "NAS-Bench-201-v1_1-096897.pth"
        ) from error
    return assembly


def _check_members(path: Path) -> None:
    """Raise BadZipFile if the content of a zipped file differs from its checksums, which torch.load does not verify."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if damaged := archive.testzip():
                raise zipfile.BadZipFile(f"wrong checksum of {damaged}")


def _load(path: Path) -> Any:
    """Load a file whose only allowed globals are the ones of NumPy's float64 scalars.

    Parameter counts are such scalars in the published files.
    """
    import numpy as np
    import torch

    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        raise UserError(f"reading {path.name} needs PyTorch 2.6 or newer, not {torch.__version__}: update torch")
    scalar: Any = np.float64(0).__reduce__()[0]
    float64: list[Any] = [(scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")]
    try:
        _check_members(path)
        with torch.serialization.safe_globals([*float64, np.dtype, type(np.dtype(np.float64))]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(
            f"cannot read {path} ({error.strerror or error}): check the path and its permissions"
        ) from error
    except MemoryError as error:
        raise UserError(f"there is not enough memory to load {path}: use a machine with more memory") from error
    except Exception as error:  # the loader raises many kinds of errors for damaged bytes
        raise DamagedFileError(
            f"{path} cannot be read as a NAS-Bench-201 file ({_first_words(error)}): it is truncated or another file; "
            "copy or download it again"
        ) from error


def _first_words(error: Exception) -> str:
    """Return the loader's message without its advice to run the file's code."""
    _, found, after = str(error).partition("WeightsUnpickler error:")
    said = after if found else f"{type(error).__name__}: {error}".removesuffix(": ")
    return " ".join(said.partition(". ")[0].split())[:120]


# Reading of NATS-Bench's archives -------------------------------------------------------------------------------------


def _load_pbz2(path: Path) -> Any:
    """Return the content of a compressed pickle of plain data; raises the errors of `load_plain_pickle`."""
    try:
        with open_regular(path) as file, bz2.open(file) as unpacked:
            return load_plain_pickle(cast(IO[bytes], unpacked), str(path))
    except (OSError, EOFError) as error:  # bz2's errors for damaged bytes are OSErrors, too
        raise blocked_error(path, error) or DamagedFileError(
            f"{path} cannot be read ({reason(error)}): it is truncated or another file; copy or download it again"
        ) from error


def _indices(folder: Path) -> list[int]:
    """Return the indices of the architectures that have a file, ascending."""
    names = (file.name.removesuffix(f".pickle{PBZ2}") for file in folder.glob(f"*.pickle{PBZ2}"))
    return sorted(int(name) for name in names if re.fullmatch("[0-9]{6}", name))
