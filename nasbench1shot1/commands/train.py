"""`nb1shot1 train`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from nasbench1shot1.architecture import is_text_form
from nasbench1shot1.cell_training.options import TrainingOptions, check_options, options_of
from nasbench1shot1.commands.arguments import check_not_truncated, parse_seeds
from nasbench1shot1.commands.dry_run import USUAL_GPUS, GPUOptions, check_dry_run, show_dry_run
from nasbench1shot1.commands.help_screen import default_variants
from nasbench1shot1.commands.options import Asked, Hidden, Positional, named_options
from nasbench1shot1.ground.errors import InvalidInputError, UserError, option
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.runs.options import Form, Range, Seeds, TableName, option_names

Options = TypeVar("Options", bound=TrainingOptions)


@dataclass(frozen=True, kw_only=True)
class ListWorkers(WorkerOptions):
    """The options of workers; only lists of architectures use them."""

    workers: Annotated[int | None, Range(1)] = None
    """With --list: number of trainings that run at once on this machine, each in a separate process. On a CPU,
    --threads then defaults to the number of cores divided by --workers. Default: 1."""


@dataclass(frozen=True, kw_only=True)
class Train(Generic[Options]):
    """Train the network of one architecture by its benchmark's protocol, and compare the result with the table.

    nb1shot1 train "s1:0|0,1|0,2|1,3|2,4:conv3x3,conv1x1,maxpool3x3,conv3x3"

    nb1shot1 train --list architectures.txt --seeds 0-2 --into my_table

    With --list, train several architectures, and write a table of the results.

    The options depend on the benchmark. This help shows the options for the architecture or the list before --help;
    without either, it shows the options of NAS-Bench-101's protocol.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "Scale": (
            *("scale", "epochs", "images", "dataset", "batch_size"),
            *("stem_channels", "stacks", "cells_per_stack", "channels", "cells_per_stage"),
        ),
        "Training": (
            *("learning_rate", "momentum", "weight_decay", "rms_decay", "rms_epsilon", "batch_norm_momentum"),
            *("numbering", "seed"),
        ),
        "Measuring": ("evaluate_every", "table"),
        "Several architectures": ("list", "seeds", "into"),
        "Workers": option_names(WorkerOptions),
        "Running": ("out", "resume", "dry_run", "gpus"),
    }

    what: Annotated[Positional[str | None], Form("[ARCHITECTURE]")] = None
    """An architecture, a string of NAS-Bench-201, or a cell's hash; not with --list or --resume."""
    options: Options
    """Options of the protocol."""
    out: Path | None = None
    """Folder of the new training; it must not exist. With --list: folder of all trainings, which continue if it exists.
    Default: runs/cell-HASH-EPOCHS-SEED, with 8 digits of the hash; runs/nb201-INDEX-EPOCHS-SEED, with the official
    index; with --list, runs/ and the name of the list."""
    resume: Path | None = None
    """Folder of a stopped training to resume. Cannot be combined with other options."""
    table: TableName | None = None
    """Folder or name of the table to compare with, and to look up a hash or an index. Default: the table in use; for
    architectures of nb201, the table nb201."""
    list: Annotated[Path | None, Form("FILE")] = None
    """Text file with one architecture, hash or official index per line; text after # is a comment. All are trained with
    the same options, and evaluated after every epoch unless --evaluate-every is given. Run the same command again to
    continue."""
    seeds: Seeds | None = None
    """With --list: seeds of the trainings of every architecture, such as 0-2 or 1,3,8. Default: 0."""
    into: Annotated[Path | None, Form("FOLDER")] = None
    """With --list: folder of a table with the results, which is written once all trainings are finished. It must not
    exist, unless it contains an earlier table of these trainings. Default: no table is written."""
    dry_run: bool = False
    """Print the number of trainings, steps, FLOPs, memory, disk and expected hours, and stop; official images may be
    missing."""
    expected: GPUOptions = USUAL_GPUS
    """The GPUs of a dry run."""
    where: ListWorkers = ListWorkers()
    """Where the trainings of a list run."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`; on resuming, their values are compared with the recorded ones."""

    @classmethod
    def choose(cls, asked: Asked) -> Self:
        """Return the command's defaults for the architecture that the command line names."""
        selecting = (asked.options.get(name) for name in ("resume", "list", "table"))
        options = _options(asked.other_words, *selecting)
        return cls(options=options())  # type: ignore[arg-type, call-arg]

    def explain(self, unknown: str) -> None:
        """Raise InvalidInputError for an option that belongs only to the protocol of another benchmark."""
        check_options(type(self.options), [unknown])

    def variants(self) -> dict[str, dict[str, Any]]:
        """Return the defaults that depend on the scale, for help."""
        scales = {scale: {**vars(self.options), **values} for scale, values in self.options.SCALES.items()}
        return default_variants(lambda setting: scales[setting.get("scale", "full")], [("scale", "quick")])

    def run(self) -> None:
        """Train."""
        from nasbench1shot1.cell_training.screen import compare
        from nasbench1shot1.cell_training.training import train_cell
        from nasbench1shot1.ground.text import literal_console
        from nasbench1shot1.tables.table import load_table

        self.expected.check(self.dry_run)
        if self.list is not None:
            self._train_list(self.list)
            return
        self._check_is_single()
        check_not_truncated(self.what)
        given = named_options(self.named, self.options)
        table, console = load_table(self.table or self.options.BENCHMARK.table), literal_console()
        if self.what is not None and not is_text_form(self.what):
            table.keys.item_of(self.what)  # raises for text that is not a hash
        if self.dry_run:
            check_dry_run(self.out, resume=self.resume)
            if self.what is None:
                raise InvalidInputError(f"no architecture is given: name one, or add {option('list', 'FILE')}")
            show_dry_run("train", self.expected, architecture=self.what, table=table, **given)
            return
        training = train_cell(self.what, out=self.out, resume=self.resume, table=table, console=console, **given)
        compare(training, table, console)

    def _train_list(self, file: Path) -> None:
        from nasbench1shot1.cell_training.lists import read_list
        from nasbench1shot1.cell_training.several import train_list
        from nasbench1shot1.ground.text import literal_console
        from nasbench1shot1.tables.table import load_table

        for name, given in (("resume", self.resume), ("ARCHITECTURE", self.what)):
            if given is not None:
                named = option(name) if name == "resume" else f"'{given}'"
                raise InvalidInputError(f"{option('list')} names the architectures: remove {named}")
        options = named_options(self.named, self.options)
        entries, where = (
            read_list(file),
            {
                "seeds": (0,) if self.seeds is None else parse_seeds(self.seeds),
                "out": Path("runs") / file.stem if self.out is None else self.out,
                "table": None if self.table is None else load_table(self.table),
                **self.where.given,
            },
        )
        if self.dry_run:
            show_dry_run("train", self.expected, architectures=entries, into=self.into, **where, **options)
            return
        train_list(entries, into=self.into, console=literal_console(), **where, **options)

    def _check_is_single(self) -> None:
        """Raise InvalidInputError for an option that needs --list."""
        given = {"seeds": self.seeds, "into": self.into, **self.where.given}
        if needing := [name for name, value in given.items() if value is not None]:
            raise InvalidInputError(
                f"{option(needing[0])} applies only to several architectures: add {option('list')}, or remove it"
            )


def _options(
    words: Sequence[str], resume: Path | None, listed: Path | None, table: str | None
) -> type[TrainingOptions]:
    """Return the options of the training to resume, or of the first architecture, or of the table's benchmark.

    Raises the errors of `read_list`.
    """
    from nasbench1shot1.architecture import Architecture
    from nasbench1shot1.cell_training.lists import read_list
    from nasbench1shot1.cell_training.record import load_training
    from nasbench1shot1.tables.table import load_table

    with suppress(UserError, OSError):  # `run` reports what is wrong with the folder
        if resume:
            return load_training(resume).OPTIONS
    words = [entry.x for entry in read_list(listed)] if listed else words
    for word in filter(is_text_form, words):
        with suppress(UserError):
            return options_of(Architecture.parse(word))
    with suppress(UserError, OSError):
        if table is not None:
            options: type[TrainingOptions] = load_table(table).benchmark.load("training")
            return options
    return options_of(None)
