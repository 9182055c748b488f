"""`nb.Recorder`: writes the run folder of your own search loop."""

import math
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.evaluator import Judge, recorded_seconds
from nasbench1shot1.ground.errors import InvalidInputError, OutOfDomainError, alternatives, option
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.text import counted
from nasbench1shot1.one_shot_search.record import PARAMETERS, flatten_datasets
from nasbench1shot1.one_shot_search.writer import SearchWriter
from nasbench1shot1.probability import preferred_within
from nasbench1shot1.recording.record import FIELDS, RecordedSearch, RecorderOptions
from nasbench1shot1.registry import import_trusted, one_shot, one_shot_space, search_space, table_of_run, with_names
from nasbench1shot1.runs.folder import COMMON, CONFIG, check_facts, damaged_file_error, description
from nasbench1shot1.runs.lifecycle import existing_run, new_run
from nasbench1shot1.runs.machine import environment
from nasbench1shot1.runs.options import check_ranges, make_options
from nasbench1shot1.runs.record import has_type
from nasbench1shot1.space import OneShotSpace, SearchSpace
from nasbench1shot1.tables.bounds import Bounds, as_options
from nasbench1shot1.tables.names import resolve_table_name
from nasbench1shot1.tables.table import Table, table_for

if TYPE_CHECKING:
    from torch import Tensor

Parameters = Mapping[str, "NDArray[Any] | Tensor"]


class Keyed(Protocol):
    """Architecture parameters by key that are not a Mapping, such as a `torch.nn.ParameterDict`."""

    def keys(self) -> Iterable[str]:
        """Return the keys of `space.mixing_shapes()`."""

    def __getitem__(self, key: str, /) -> Any:
        """Return the array or tensor of a key."""


FRACTIONS = ("train_error", "one_shot_validation_error")
PROVIDED = ("train_loss", *FRACTIONS, "hessian_eigenvalue")
"""Fields of a line that the loop may provide; the recorder fills in all others."""


class Recorder:
    """Records your own search loop, epoch by epoch, in a folder that the commands open like a search.

    `nb.load_run`, `nb.open_run`, `nb1shot1 report` and `nb1shot1 compare` open the folder; docs/own_loop.md has a
    complete loop. A recorder is a context manager: leaving it without an error ends the run, as `finish` does. After an
    error, the recorded epochs remain, and `Recorder.resume` continues the record. Only the thread and process that made
    a recorder may use it.

    Args:
        folder: must not exist, or be empty.
        space: an `nb.OneShotSpace`, or the name of one.
        table: an `nb.Table` that has a folder, or the name or folder of a table. Default: the table of the space.
        optimizer: name of the method, for labels and captions.
        seed: random seed of the loop.
        reference: "present" to measure regret from the best networks that the table has, if it lacks some.
        dataset: data set whose errors are recorded. Default: the table's first.
        bounds: bounds on costs: an `nb.Bounds`, a text such as "flops=1e8", or a mapping from metrics to limits.
            Regrets are relative to the best network within them; Λ is discretised within them. Default: none.
        notes: the loop's own settings, such as {"learning_rate": 0.025}: strings, numbers and booleans by name.
            config.json records them, and captions show them.

    Attributes:
        folder: the run's folder, an absolute path.
        space: the search space.
        table: the table that gives errors and regrets.
        epoch: the last recorded epoch; −1 before the first.

    Raises:
        InvalidInputError: the folder is in use, or an argument is unknown or impossible.
        OutOfDomainError: the table lacks networks of the space, and `reference` is not given.
        UserError: the folder cannot be written.
    """

    folder: Path
    space: OneShotSpace
    table: Table

    def __init__(
        self,
        folder: str | Path,
        space: str | SearchSpace,
        table: "str | Path | Table | None" = None,
        *,
        optimizer: str = "own-loop",
        seed: int = 0,
        reference: str | None = None,
        dataset: str | None = None,
        bounds: "Bounds | str | Mapping[str, float] | None" = None,
        notes: Mapping[str, str | float | bool] | None = None,
    ) -> None:
        named = with_names({"space": space, "table": table})
        options = make_options(
            RecorderOptions, {**named, "optimizer": optimizer, "seed": seed, "reference": reference}, {}
        )
        check_ranges(options)
        self.space = one_shot_space(options.space)
        self.table = table_for(self.space, options.table or self.space.table, options.reference)
        within = Bounds.from_options(as_options(bounds))
        if dataset not in (None, *(known := [objective.dataset for objective in self.table.objectives])):
            raise OutOfDomainError(
                f"the table {self.table.id} has no values of {dataset!r}: give "
                + alternatives(option("dataset", name) for name in known)
            )
        self._judge = Judge(self.table.objective(dataset).dataset, within=within)
        self._constrain()
        place = as_path(folder, "folder")
        facts = {"space_id": self.space.id, "table_id": self.table.id, "dataset": self._judge.dataset}
        sections = {COMMON: {**vars(options), "table": resolve_table_name(options.table or self.space.table)}}
        baseline = self._judge.baseline(self.space.name, self.table)
        labels = {"notes": checked_notes(notes or {}), **(baseline.fields() if baseline else {})}
        config = description(RecordedSearch.KIND, sections, {**facts, **labels})
        if (place / CONFIG).is_file():
            raise InvalidInputError(
                f"'{place}' already exists: choose another folder, or, if nb.Recorder made it, continue with "
                f"nb.Recorder.resume('{place}')"
            )
        with ExitStack() as stack:
            self._writer = stack.enter_context(new_run(place, SearchWriter, RecordedSearch))
            self._writer.describe(config, environment(_device()))
            self._stack = stack.pop_all()
        self.folder = self._writer.folder
        self._begin(-1, 0.0)

    @classmethod
    def resume(cls, folder: str | Path, after_epoch: int | None = None, *, allow_module: str | None = None) -> Self:
        """Return a recorder that continues the record in a folder.

        Args:
            folder: the folder of a recorded search.
            after_epoch: the last epoch to keep, normally the epoch of the loop's own checkpoint. Later epochs are
                removed. Default: the last recorded epoch.
            allow_module: modules of the user's own that may be imported because the record names them, separated by
                commas.

        Raises:
            InvalidInputError: the folder is not a recorded search, another process is writing to it, it does not have
                the epoch, or its table or space is not the recorded one.
            DamagedFileError: a file of the record is damaged.
        """
        import_trusted(allow_module)
        recorder, run = cls.__new__(cls), RecordedSearch.open(folder)
        recorder._judge = Judge.from_config(run.config, run.folder / CONFIG)
        recorder.table = table_of_run(run.config, run.folder / CONFIG, run.config["table"])
        recorder.space = one_shot(search_space(run.config["space"]))
        recorder._constrain()
        check_facts(run.folder, run.config, {"space_id": recorder.space.id, "table_id": recorder.table.id})
        with ExitStack() as stack:
            recorder._writer = stack.enter_context(existing_run(run.folder, SearchWriter, RecordedSearch))
            lines = lines_up_to(RecordedSearch.open(run.folder), after_epoch)
            recorder._writer.keep(len(lines), recorder.space.mixing_shapes())
            recorder._stack = stack.pop_all()
        recorder.folder = recorder._writer.folder
        recorder._begin(len(lines) - 1, lines[-1]["search_seconds"] if lines else 0.0)
        return recorder

    def record(
        self,
        chosen: "Architecture | Parameters | Keyed",
        *,
        seconds: SupportsFloat | None = None,
        **numbers: SupportsFloat | None,
    ) -> dict[str, Any]:
        """Record an epoch; the first is epoch 0, before training.

        Args:
            chosen: the architecture that the method prefers now, or its architecture parameters Λ: arrays or tensors
                with the keys and shapes of `space.mixing_shapes()`, which are discretised.
            seconds: duration of the epoch. Default: the time since the last call, or since the recorder was made.
            numbers: `train_loss`, `train_error`, `one_shot_validation_error` and `hessian_eigenvalue`
                (docs/run_folder.md; errors are fractions), and any numbers of the loop's own under other names: floats,
                NumPy scalars or tensors with one element; None if a number is unknown.

        Returns:
            The recorded fields: the numbers, the architecture, and its errors and regrets from the table as fractions.

        Raises:
            InvalidInputError: the architecture is of another space, Λ has other keys or shapes, or a number is infinite
                or NaN; nothing is recorded.
            UserError: the disk is full, the recorder is closed, or another thread or process made it.
        """
        now = time.perf_counter()
        self._check_open()
        arch, parameters = self._architecture(chosen)
        provided, own = split_numbers(numbers)
        duration = now - self._since if seconds is None else checked_seconds(seconds)
        elapsed = recorded_seconds(self._seconds + duration)
        elsewhere = self._judge.elsewhere(arch, self.table)
        check_column_names(own, flatten_datasets(elsewhere))
        found = {
            **provided,
            "epoch": self.epoch + 1,
            "architecture": str(arch),
            **self._judge.score(arch, self.table).fields(elapsed),
            "other_datasets": elsewhere,
            "numbers": own,
        }
        line = {name: found[name] for name in RecordedSearch.FIELDS}
        self._writer.append(line, parameters)
        self._begin(self.epoch + 1, elapsed)
        return line

    def finish(self) -> RecordedSearch:
        """End the run: write summary.json, regret.png and cells.png, close the recorder, and return the record.

        Raises UserError if no epoch is recorded, a file cannot be written, or another thread or process made it.
        """
        self._check_open()
        if self.epoch < 0:
            raise self._without_epoch()
        try:
            return self._finish()
        finally:
            self.close()

    def _finish(self) -> RecordedSearch:
        from nasbench1shot1.one_shot_search.pictures import save_pictures
        from nasbench1shot1.one_shot_search.record import summarise

        run = RecordedSearch.open(self._writer.shown_folder)
        lines = RecordedSearch.read_lines(self.folder)
        self._writer.finish(summarise(run.config, lines, self.table.id))
        save_pictures(run, self.table)
        return run

    def close(self) -> None:
        """Release the folder without ending the run; raises InvalidInputError in another thread or process."""
        self._check_owner()
        self._is_open = False
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._is_open:
            return
        if kind is not None and not self._is_owner():  # a forked child that ends with an error, for example
            return
        self._check_owner()
        if kind is None and self.epoch >= 0:
            self.finish()
            return
        self._is_open = False
        if kind is None:
            with self._stack:  # an error before the first epoch removes the folder
                raise self._without_epoch()
        self._stack.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        recorded = f"epoch {self.epoch}" if self.epoch >= 0 else "no epoch yet"
        state = "" if self._is_open else ", closed"
        return f"Recorder('{self.folder}': {self.space.name}, {recorded}{state}, {self.table.id})"

    def _begin(self, epoch: int, seconds: float) -> None:
        """Get ready for the next epoch; `epoch` is the last one, and `seconds` the search time so far."""
        self.epoch, self._seconds, self._since, self._is_open = epoch, seconds, time.perf_counter(), True
        self._owner = os.getpid(), threading.current_thread()

    def _without_epoch(self) -> InvalidInputError:
        return InvalidInputError(f"'{self.folder}' has no recorded epoch: call record() before finish()")

    def _is_owner(self) -> bool:
        return self._owner == (os.getpid(), threading.current_thread())

    def _check_owner(self) -> None:
        """Raise InvalidInputError in another thread, or in a forked process; its lines would be mixed with others."""
        if not self._is_owner():
            raise InvalidInputError(
                f"only the thread and process that made the recorder of '{self.folder}' may use it: call it there, or "
                "give each of them a recorder with its own folder"
            )

    def _check_open(self) -> None:
        self._check_owner()
        if not self._is_open:
            raise InvalidInputError(
                f"the record of '{self.folder}' is closed: continue with nb.Recorder.resume('{self.folder}')"
            )

    def _architecture(
        self, chosen: "Architecture | Parameters | Keyed"
    ) -> tuple[Architecture, dict[str, NDArray[np.float32]]]:
        """Return an architecture of the space, and Λ as float32 arrays; ones mark an architecture without Λ."""
        if isinstance(chosen, Architecture):
            if chosen.space != self.space.name:
                raise InvalidInputError(f"'{chosen}' is an architecture of {chosen.space}, not of {self.space.name}")
            if self._constraint is not None and not self._constraint.allows(chosen):
                raise InvalidInputError(
                    f"'{chosen}' is outside the bounds {self._constraint.words}: choose an architecture within them"
                )
            return chosen, self.space.one_hot(chosen)
        if not hasattr(chosen, "keys"):  # an nn.ParameterDict is not a Mapping
            raise InvalidInputError(
                f"record() takes an architecture or a mapping of architecture parameters, not {chosen!r}: "
                "parse a text with nb.Architecture.parse(text)"
            )
        with np.errstate(over="ignore"):
            checked = self.space.checked_mixing({key: chosen[key] for key in chosen.keys()})  # noqa: SIM118
            parameters = {key: value.astype(np.float32) for key, value in checked.items()}
        if not all(np.isfinite(values).all() for values in parameters.values()):
            raise InvalidInputError("Λ has values that are infinite in float32: the loop has diverged")
        found = self.space.discretise(checked)  # float32 would turn small differences into ties
        return preferred_within(self._constraint, found, self.space, checked), parameters

    def _constrain(self) -> None:
        """Compute which architectures are within the bounds; raises the errors of `Table.constraint`."""
        within, dataset = self._judge.within, self._judge.dataset
        self._constraint = None if within is None else self.table.constraint(self.space, within, dataset)


def lines_up_to(run: RecordedSearch, after_epoch: int | None) -> list[dict[str, Any]]:
    """Return the lines of a recorded search up to an epoch.

    The last epoch of a killed process does not count if its Λ is missing.

    Raises:
        InvalidInputError: the search does not have the epoch.
        DamagedFileError: Λ of more epochs is missing.
    """
    lines = run.lines
    epochs = min(map(len, run.architecture_parameters.values())) if lines and (run.folder / PARAMETERS).exists() else 0
    known = min(epochs, len(lines))
    after_epoch = int(after_epoch) if isinstance(after_epoch, np.integer) else after_epoch
    if type(after_epoch) is int and 0 <= after_epoch < known:
        return lines[: after_epoch + 1]
    if (lacking := len(lines) - known) > (0 if run.is_finished else 1):
        raise damaged_file_error(run.folder / PARAMETERS, f"it lacks Λ of {counted(lacking, 'epoch')}")
    if after_epoch is not None:
        raise InvalidInputError(f"'{run.folder}' has no epoch {after_epoch!r}: it ends at epoch {known - 1}")
    return lines[:known]


def checked_notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Return notes for config.json, NumPy scalars as Python's.

    Raises InvalidInputError if a value is not a string, a number or a boolean.
    """
    if not isinstance(notes, Mapping):
        raise InvalidInputError(f"notes must be a mapping, such as {{'learning_rate': 0.025}}, not {notes!r}")
    found = {name: value.item() if isinstance(value, np.generic) else value for name, value in notes.items()}
    for name, value in found.items():
        if not isinstance(name, str) or not has_type(value, str | bool | float):
            raise InvalidInputError(f"the note {name!r} must be a string, a finite number or a boolean, not {value!r}")
    return found


def split_numbers(
    numbers: Mapping[str, SupportsFloat | None],
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Return the values of `PROVIDED`, None where not given, and the loop's own numbers.

    Args:
        numbers: numbers by name; tensors and NumPy scalars are converted.

    Raises InvalidInputError if a number is infinite or NaN, a fraction is not between 0 and 1, or a name is taken.
    """
    values = {name: _finite(name, value) for name, value in numbers.items()}
    own = {name: value for name, value in values.items() if name not in PROVIDED}
    if taken := own.keys() & {*FIELDS, *RecordedSearch.IF_RECORDED}:
        raise InvalidInputError(f"{min(taken)} is a field of records: choose another name")
    return {name: values.get(name) for name in PROVIDED}, own


def check_column_names(own: Iterable[str], taken: Iterable[str]) -> None:
    """Raise InvalidInputError if one of the loop's own numbers has the name of another column of `run.metrics`."""
    if found := set(own) & {*taken, "seed"}:
        raise InvalidInputError(f"{min(found)} is already a column of records: choose another name")


def checked_seconds(seconds: SupportsFloat) -> float:
    """Return a duration as a float; raises InvalidInputError if it is not a finite number of at least 0."""
    number = finite_number("seconds", seconds)
    if number < 0:
        raise InvalidInputError(f"seconds must be at least 0, not {number:g}")
    return number


def finite_number(name: str, value: SupportsFloat) -> float:
    """Return a value as a float; raises InvalidInputError if it is not a finite number."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        number = float(getattr(value, "detach", lambda: value)())  # PyTorch warns about tensors with a gradient
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{name} must be a number, not {value!r}") from error
    if not math.isfinite(number):
        raise InvalidInputError(f"{name} is {number}: give a finite number (perhaps the loop has diverged)")
    return number


def _finite(name: str, value: SupportsFloat | None) -> float | None:
    if value is None:
        return None
    number = finite_number(name, value)
    if name in FRACTIONS and not 0 <= number <= 1:
        raise InvalidInputError(f"{name} must be a fraction between 0 and 1, not {number:g}")
    return number


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
