"""What a kind of run provides to the life cycle that all kinds share (`runs.running.run`).

A kind is a folder with five parts: its options, `begin`, the main loop, `summarise`, and its pictures. All kinds
share the rest: names of objects, the new folder or the one to resume, its lock, the comparison of recorded options and
data with the present ones, CPU threads, removal of lines after the last checkpoint, Ctrl-C, `overwrite`, and the
summary that marks a run as finished.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from nasbench1shot1.ground.errors import InvalidInputError, UnknownOptionError, option
from nasbench1shot1.runs.options import check_unchanged
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    from rich.console import Console


class Options(Protocol):
    """The resolved options of a run."""

    def sections(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the options by section of config.json (`runs.folder.SECTIONS`)."""

    def as_dict(self) -> dict[str, Any]:
        """Return all options in one flat dictionary, by name."""

    @property
    def threads(self) -> int | None:
        """Number of CPU threads; None if the kind does not compute with PyTorch."""

    @property
    def device(self) -> str:
        """Resolved device: "cpu", "cuda:1", …"""


O = TypeVar("O", bound=Options)  # noqa: E741
S = TypeVar("S")
R = TypeVar("R", bound=RunRecord)
W = TypeVar("W", bound=RunWriter)  # type: ignore[type-arg]


@dataclass(frozen=True)
class Begun(Generic[S]):
    """What `Kind.begin` returns.

    Attributes:
        state: the state of the run before its first line. If the kind has checkpoints, it has `recorded`, `state_dict`
            and `load_state_dict` (`runs.writer.Resumable`).
        facts: the data of the run, such as its images and its table; recorded, and compared when the run is resumed.
        labels: other fields of config.json, which are recorded once.
        table: the performance table that the run uses; None if it uses none.
    """

    state: S
    facts: Mapping[str, Any]
    labels: Mapping[str, Any] = field(default_factory=dict)
    table: Any = None


class Kind(ABC, Generic[O, S, R, W]):
    """A kind of run. An object of a subclass carries one call: its attributes are arguments that are not options.

    Every kind must define `RECORD`, `WRITER`, `options`, `recorded_options`, `begin`, `loop` and `summarise`. Most
    kinds also define `present` and `default_folder`. All other methods have defaults. A kind overrides one of them if:

    - it has several classes of records, such as one per benchmark (`open` and `record_class`);
    - config.json relies on another file, such as a configuration space (`prepare`);
    - its records name modules, which would be imported when a run is resumed (`check_trusted`);
    - options given on resuming are compared with more than its own options (`resumed_options`);
    - `options` refuses values for other reasons than the values themselves, such as having no effect
      (`extended_options`);
    - a run that is extended records more than the new values of its options (`changes`).

    Attributes:
        RECORD: the class of the record, which reads a folder of this kind.
        WRITER: the class of the writer.
        MAY_GROW: names of the options that may increase when a run is resumed. Default: none.
        WORD: what messages call a run. Default: "run".
        REPLACES: the classes of records that a new run may replace with `overwrite`. Default: none.
        PACKAGES: packages whose versions environment.json records besides those of every run. Default: none.
        unrecorded: options that the user gave but config.json does not record, such as `workers`. The command that
            resumes a stopped run repeats them. Default: none.
    """

    # What every kind must define

    RECORD: type[R]
    WRITER: type[W]

    @abstractmethod
    def options(self, given: Mapping[str, Any]) -> O:
        """Return the resolved options of a new run; raises InvalidInputError for an invalid option."""

    @abstractmethod
    def recorded_options(self, run: R) -> O:
        """Return the options of a run that is resumed; raises DamagedFileError if its config.json is damaged."""

    @abstractmethod
    def begin(self, options: O, resumed: R | None) -> Begun[S]:
        """Read and check everything that the run needs, and write nothing.

        Args:
            options: the resolved options.
            resumed: the record of the run that is resumed; None for a new one.

        Raises:
            UserError: something is missing or does not fit.
        """

    @abstractmethod
    def loop(self, begun: Begun[S], writer: W, console: "Console") -> None:
        """Announce the run, compute what is not recorded yet, and record it line by line."""

    @abstractmethod
    def summarise(self, run: R, begun: Begun[S]) -> Mapping[str, Any]:
        """Return the content of summary.json, from a record with all lines."""

    # What has defaults

    MAY_GROW: ClassVar[tuple[str, ...]] = ()
    WORD: ClassVar[str] = "run"
    REPLACES: tuple[type, ...] = ()
    PACKAGES: Sequence[str] = ()
    unrecorded: Mapping[str, object] = MappingProxyType({})

    def present(self, run: R, begun: Begun[S], console: "Console") -> None:
        """Draw the pictures of the finished run, and print its result. Default: nothing."""

    def default_folder(self, options: O) -> Path:
        """Return the folder of a run that names none. Default: raise InvalidInputError."""
        raise InvalidInputError(f"no folder is given: give the folder of the new {self.WORD} with {option('out')}")

    def prepare(self, begun: Begun[S], folder: Path) -> None:
        """Write files on which config.json relies, just before it is written. Default: nothing."""

    def open(self, folder: Path) -> R:
        """Open the record in a folder; raises InvalidInputError for another kind of run."""
        return self.RECORD.open(folder)

    def record_class(self, options: O) -> type[R]:
        """Return the class of the record of a new run. Default: `RECORD`."""
        return self.RECORD

    def check_trusted(self, run: R, given: Mapping[str, Any], allow_module: str | None) -> None:
        """Raise InvalidInputError if the record names a module that may not be imported. Default: it names none."""

    def resumed_options(self, run: R, given: Mapping[str, Any], allow_module: str | None) -> O:
        """Return the recorded options, with increases where allowed; other given options must equal the recorded ones.

        Raises InvalidInputError if one differs, and the errors of `check_trusted` and `options`.
        """
        self.check_trusted(run, given, allow_module)
        if "optimizer" in given:  # the other options depend on it
            check_unchanged(run.folder, run.config, {"optimizer": given["optimizer"]}, ())
        kept = self.recorded_options(run)
        if not given:
            return kept
        try:
            wanted = self.extended_options(kept, given)
        except UnknownOptionError:
            raise
        except InvalidInputError:
            changed = {name: value for name, value in given.items() if name not in self.MAY_GROW}
            check_unchanged(run.folder, run.config, changed, self.MAY_GROW)  # clearer than a conflict between both
            raise
        now = wanted.as_dict()
        check_unchanged(run.folder, run.config, {name: now[name] for name in given}, self.MAY_GROW)
        return wanted

    def extended_options(self, kept: O, given: Mapping[str, Any]) -> O:
        """Return the recorded options, updated with the given ones; raises the errors of `options`.

        Recorded values must not be refused: they were accepted when the run was started. Default: `options` of both.
        """
        return self.options({**kept.as_dict(), **given})

    def changes(self, run: R, options: O, begun: Begun[S]) -> dict[str, Any]:
        """Return the options and labels that change in config.json when a run is resumed."""
        now = options.as_dict()
        return {name: now[name] for name in self.MAY_GROW if now[name] != run.config[name]}
