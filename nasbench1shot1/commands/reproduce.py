"""`nb1shot1 reproduce`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from nasbench1shot1.commands.arguments import parse_seeds
from nasbench1shot1.commands.dry_run import USUAL_GPUS, GPUOptions, check_dry_run
from nasbench1shot1.commands.options import Hidden, Positional, named_options
from nasbench1shot1.display.options import PICTURES, USUAL_PICTURES, PictureOptions
from nasbench1shot1.display.style import Spread
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.ground.text import print_to_stdout
from nasbench1shot1.jobs.pool import WorkerOptions
from nasbench1shot1.runs.devices import USUAL
from nasbench1shot1.runs.machine import Device
from nasbench1shot1.runs.options import Form, Images, Names, Range, Seeds, TableName, option_names
from nasbench1shot1.scales import ScaleName

FigureName = Annotated[
    Positional[str | None], Form("[FIGURE]"), Names("nasbench1shot1.experiments.reproduction.figures.catalogue:FIGURES")
]
"""The name of a figure as the argument of a command."""
WIDTH = 80
"""Columns of the list of figures; longer lines are divided."""


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """The options of every run of a figure; given values override the figure's own."""

    epochs: int | None = None
    """Number of epochs of every search or training; maximum budget of every study. Default: set by the figure."""
    images: Images | None = None
    """Image set, as in nb1shot1 search. Default: set by the scale."""
    preset: Literal["corrected", "original"] = "corrected"
    """corrected, or original to reproduce the published code's bugs."""
    table: TableName | None = None
    """Folder or name of the table to score all runs on, including finished ones. Black-box optimizers search it.
    Default: the table in use."""
    device: Device = "auto"
    """Device; auto selects GPUs if there are any, and cuda uses all of them."""
    threads: Annotated[int, Range(1)] = 1
    """Number of CPU threads per search or training; results are reproducible only with an equal number."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of the networks."""
    compile: bool = False
    """Compile the supernet with torch.compile. Does not apply to figure17."""
    space: str | None = None
    """Search space of nas101-figure7: s1, s2, s3, nb101 or nb101-mini. Default: nb101, or s1 at the quick scale."""
    seconds: float | None = None
    """Simulated seconds of every black-box search. Default: set by the figure."""
    evaluations: int | None = None
    """Number of trainings in every black-box search, instead of --seconds. Default: 500 where the table has no training
    times."""
    repeats: int | None = None
    """Number of searches of every black-box study. Default: set by the figure."""


USUAL_OPTIONS = FigureOptions()
"""The defaults."""


@dataclass(frozen=True, kw_only=True)
class FigureWorkers(WorkerOptions):
    """The options of workers, with the default of figures."""

    workers: Annotated[int | None, Range(1)] = None
    """Number of runs at the same time on this machine, each in a separate process. Default: one per GPU, or as many as
    fit on the CPU cores."""


@dataclass(frozen=True)
class Reproduce:
    """Run the searches, trainings or studies of a paper's figure in parallel and draw it.

    Without arguments, list the figures.

    To continue after a stop, run the command again; finished runs are kept.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "What to reproduce": ("scale", "only", "seeds", "join", "dry_run", "gpus", "draw_only", "records", "pack"),
        "Searches and trainings": ("epochs", "images", "preset", "space", "seconds", "evaluations", "repeats", "table"),
        "Workers": option_names(WorkerOptions),
        "Pictures": (*PICTURES, "spread"),
        "Running": ("out",),
    }

    figure: FigureName = None
    """Figure or table. Names without a prefix refer to NAS-Bench-1Shot1. Default: list the figures."""
    scale: ScaleName = "full"
    """full: the paper's setting, for GPUs; medium: days on a CPU, with official images; quick: minutes to hours on a
    CPU, but too small to rank methods."""
    out: Path | None = None
    """Folder of the runs, the picture and the CSV file. Default: reproduce/FIGURE-SCALE."""
    only: str | None = None
    """Parts of the figure to draw into separate files: panels, curves or panel/curve, as in s1,s2/gdas or
    cells-3/channels-8; * matches anything. Default: the whole figure."""
    seeds: Seeds | None = None
    """Seeds, as 0-5 or 1,3,8. Default: set by the figure and the scale."""
    where: FigureWorkers = FigureWorkers()
    """Where the searches, trainings or studies run."""
    dry_run: bool = False
    """List the runs with their expected time, memory and disk space, and stop; official images may be missing."""
    expected: GPUOptions = USUAL_GPUS
    """The GPUs of a dry run."""
    draw_only: bool = False
    """Draw the finished runs, and do not start any others."""
    records: Path | None = None
    """File with the records of finished runs, which --pack wrote. They are copied to --out and not run again."""
    pack: Path | None = None
    """Write the records of all finished runs to this .tar.xz file, without checkpoints, pictures and ranking files that
    the figure does not need. Default: not written."""
    pictures: PictureOptions = USUAL_PICTURES
    """How the picture looks."""
    spread: Spread | None = None
    """What the bands show. ci: 95 % confidence interval, or the range of fewer than six runs; std: standard
    deviation. Does not apply to figure16, figure17, nas201-figure6 and nats-table4. Default: ci."""
    options: FigureOptions = USUAL_OPTIONS
    """The options of all runs."""
    join: tuple[Path, ...] = ()
    """Folders of finished runs to add. methods, methods-nb201, methods-size: one-shot searches or groups of seeds, also
    of your own optimizer. figure5, figure14, figure15, tuners: black-box studies (nb1shot1 blackbox). nats-table4:
    one-shot searches or a whole nats-figure7 (nats-table4-size: nats-figure7-size)."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`."""

    def run(self) -> None:
        """Run the jobs of the figure and draw it, or list the figures."""
        if self.figure is None:
            if self.named:
                raise InvalidInputError(
                    f"{option(min(self.named))} applies to a figure: give its name, as in nb1shot1 reproduce figure2 "
                    f"{option('scale', 'quick')}"
                )
            _list()
            return
        from nasbench1shot1.experiments.reproduction.reproducing import reproduce, show_figure_plan

        asked: dict[str, Any] = {
            "scale": self.scale,
            "out": self.out,
            "joined": self.join,
            "spread": self.spread,
            **figure_parts(self.only, self.seeds),
            **self.where.given,
            **named_options(self.named, self.options),
        }
        self.expected.check(self.dry_run)
        if self.dry_run:
            check_dry_run(draw_only=self.draw_only, records=self.records, pack=self.pack)
            show_figure_plan(self.figure, gpus=self.expected.gpus or USUAL, **asked)
            return
        reproduce(
            self.figure,
            draw_only=self.draw_only,
            records=self.records,
            pack=self.pack,
            format=self.pictures.file_format,
            style=self.pictures.figure_style,
            **asked,
        )


def figure_parts(only: str | None, seeds: str | None) -> dict[str, Any]:
    """Return the parts and the seeds of a figure that a command line names, as arguments of `reproduce`."""
    return {
        "only": () if only is None else only.split(","),
        "seeds": parse_seeds(seeds) if seeds else None,
    }


def _list() -> None:
    from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure
    from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES

    for name, figure in FIGURES.items():
        sizes = [f"{scale}: {open_figure(name).size(scale)}" for scale in figure.scales]
        print_to_stdout(f"{name}: {figure.title}")
        joined = f"  {' | '.join(sizes)}"
        for line in [joined] if len(joined) <= WIDTH else [f"  {size}" for size in sizes]:
            print_to_stdout(line)
    print_to_stdout("\n27 × 280 runs: 27 studies of 280 searches each, by nb1shot1 tune")
    print_to_stdout("15 × 150 trainings: 150 architectures trained in each of 15 sizes of the proxy")
    print_to_stdout("90 × 50 epochs: 90 searches of 50 epochs each")
    print_to_stdout("full: the paper's setting; on a CPU, medium takes days, quick minutes to hours")
    print_to_stdout("nb1shot1 reproduce FIGURE --scale quick")
