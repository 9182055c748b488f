"""`nb1shot1 plan`: what figures need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from nasbench1shot1.commands.dry_run import make_plan, show_plan
from nasbench1shot1.commands.options import Hidden, named_options
from nasbench1shot1.commands.reproduce import USUAL_OPTIONS, FigureName, FigureOptions, figure_parts
from nasbench1shot1.ground.errors import InvalidInputError, option, switch
from nasbench1shot1.ground.text import print_to_stderr
from nasbench1shot1.runs.devices import USUAL, GPUName
from nasbench1shot1.runs.options import Form, Seeds, option_names
from nasbench1shot1.scales import ScaleName

if TYPE_CHECKING:
    from nasbench1shot1.experiments.all_plans import AllPlans
    from nasbench1shot1.experiments.planning.plan import Plan as MadePlan


@dataclass(frozen=True)
class Plan:
    """Estimate what a figure needs: runs, steps, FLOPs, memory, disk space, and hours on this machine and on GPUs.

    nb1shot1 plan figure2 --scale full

    FLOPs are counted in small steps on the CPU, so neither images nor a GPU is needed. Without a name, plan all
    figures. See docs/full_scale.md for the formula and its errors.

    For a single run, give --dry-run to its command, such as nb1shot1 search.
    """

    GROUPS: ClassVar[Mapping[str, Sequence[str]]] = {
        "What to plan": ("scale", "only", "seeds"),
        "Expected hours": ("gpus", "measure"),
        "Output": ("json", "csv", "page"),
        "Searches and trainings": option_names(FigureOptions),
    }

    figure: FigureName = None
    """Figure or table, as in nb1shot1 reproduce. Default: all, with one line for each."""
    scale: ScaleName = "full"
    """full: the paper's setting; medium: days on a CPU; quick: minutes to hours on a CPU."""
    only: str | None = None
    """Parts of the figure, as in nb1shot1 reproduce. Default: the whole figure."""
    seeds: Seeds | None = None
    """Seeds, as 0-5 or 1,3,8. Default: set by the figure and the scale."""
    gpus: tuple[GPUName, ...] = USUAL
    """GPUs for which hours are estimated from their published throughput."""
    measure: bool = True
    """Time a few steps of each kind of run on this machine, which can take minutes. Without a figure, nothing is
    timed."""
    json: bool = False
    """Print JSON, with the formula and the sources."""
    csv: bool = False
    """Print CSV, with a row for each curve and kind of run."""
    page: Annotated[Path | None, Form("FILE")] = None
    """Markdown file whose tables of all figures are replaced, such as docs/full_scale.md. The plan of every curve is
    written beside it as CSV. Only without a figure."""
    options: FigureOptions = USUAL_OPTIONS
    """The options of all runs."""

    named: Hidden[frozenset[str]] = frozenset()
    """Names of the given options, set by `cli`."""

    def run(self) -> None:
        """Print the plan."""
        if self.json and self.csv:
            raise InvalidInputError(f"{switch('json')} and {switch('csv')} cannot be combined: remove one of them")
        given = named_options(self.named, self.options)
        if self.figure is None:
            self._run_all(given)
            return
        if self.page is not None:
            raise InvalidInputError(
                f"{option('page')} applies only to the plan of all figures: remove it, or the figure"
            )
        self._check_figure(self.figure)
        parts = figure_parts(self.only, self.seeds)
        made = make_plan(self.figure, self.gpus, self.measure, scale=self.scale, **parts, **given)
        self._print(made, made)

    def _check_figure(self, name: str) -> None:
        """Raise InvalidInputError for an unknown figure, and for a command."""
        from nasbench1shot1.experiments.plans import COMMANDS
        from nasbench1shot1.experiments.reproduction.figure_jobs import open_figure

        if name in COMMANDS:
            raise InvalidInputError(f"'{name}' is a command: run nb1shot1 {name} {switch('dry_run')}, with its options")
        open_figure(name)

    def _run_all(self, given: Mapping[str, Any]) -> None:
        from nasbench1shot1.experiments.all_plans import check_page, plan_all

        if unfit := [name for name in ("only", "seeds", *given) if name in self.named]:
            raise InvalidInputError(f"{option(unfit[0])} is for the plan of a single figure: name the figure")
        if self.page is not None:
            check_page(self.page)
        print_to_stderr(
            "Counting the work of all figures takes about half an hour. Name a figure to count only its own."
        )
        made = plan_all(self.scale, self.gpus, print_to_stderr)
        if self.page is not None:
            made.write_page(self.page)
        self._print(made, made.summary)

    def _print(self, made: "MadePlan | AllPlans", shown: "MadePlan") -> None:
        if self.json:
            print(made.as_json())
        elif self.csv:
            print(made.as_csv(), end="")
        else:
            show_plan(shown)
