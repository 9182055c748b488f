"""The plans of all figures at a scale: a line for each, and the page that shows them (docs/full_scale.md)."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench1shot1.experiments.planning.plan import CORE_FORMULA, FORMULA, HERE, Plan, Row, total
from nasbench1shot1.experiments.planning.screen import hours_table, two_digits, work_table
from nasbench1shot1.experiments.plans import make_plan
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.forecast import Report, no_report
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.ground.files import atomic_write, check_writable, read_text
from nasbench1shot1.ground.text import markdown_table
from nasbench1shot1.runs.devices import CORE, gpus
from nasbench1shot1.runs.work import Work

BEGIN, END = "<!-- written by nb1shot1 plan, up to the next comment -->", "<!-- end of the written part -->"
"""The lines of a page between which its tables are."""
ON_CORE = "hours_core"
"""The column of expected hours on `CORE`."""


@dataclass(frozen=True)
class AllPlans:
    """The plans of all figures that have a scale.

    Attributes:
        scale: name of the scale.
        plans: the plans by figure.
        gpus: names of the GPUs.
    """

    scale: str
    plans: dict[str, Plan]
    gpus: tuple[str, ...]

    @property
    def summary(self) -> Plan:
        """A plan with one row for each figure."""
        rows = tuple(total(plan.rows, name) for name, plan in self.plans.items())
        notes = [
            f"{name} includes runs of {FIGURES[name].runs_of}, which are not run again."
            for name in self.plans
            if FIGURES[name].runs_of
        ]
        return Plan(f"All figures, {self.scale} scale", rows, self.gpus, tuple(notes), has_total=False)

    def as_csv(self) -> str:
        """Return all rows of all plans as CSV. Nothing is timed here; the hours on `CORE` are from recorded steps."""
        import pandas

        def frame(plan: Plan) -> "pandas.DataFrame":
            return plan.as_frame().drop(columns=HERE).assign(**{ON_CORE: [_core_hours(row) for row in plan.rows]})

        frames = map(frame, self.plans.values())
        return str(pandas.concat(frames).to_csv(index=False, lineterminator="\n"))

    def as_json(self) -> str:
        """Return all plans as JSON, by figure."""
        return json.dumps({name: plan.as_dict() for name, plan in self.plans.items()}, indent=1)

    def markdown(self) -> str:
        """Return the tables of a page: work, expected hours, and the GPUs with the sources of their figures."""
        summary = self.summary
        work, (headings, lines) = work_table(summary), hours_table(summary)
        on_core = [two_digits(_core_hours(row)) for row in summary.rows]
        of_figures = [[line[0], own, *line[2:]] for line, own in zip(lines, on_core, strict=True)]
        return "\n".join(
            [
                markdown_table(["figure", *work[0][1:]], work[1], numbers=range(1, len(work[0]))),
                markdown_table([headings[0], CORE.title, *headings[2:]], of_figures, numbers=range(1, len(headings))),
                markdown_table(*_gpu_table(self.gpus), numbers=range(1, 6)),
                f"{FORMULA}\n",
                f"{CORE_FORMULA}\n",
            ]
        )

    def write_page(self, path: Path) -> None:
        """Replace the written part of a page, and write the plan of every curve beside it as CSV.

        Raises:
            InvalidInputError: the page has no such part.
            UserError: the page cannot be read or written.
        """
        before, after = _around_plan(path)
        with atomic_write(path) as file:
            file.write(f"{before}{BEGIN}\n\n{self.markdown()}\n{END}{after}".encode())
        with atomic_write(path.with_suffix(".csv")) as file:
            file.write(self.as_csv().encode())


def check_page(path: Path) -> None:
    """Check a page before the plans are made; raises the errors of `AllPlans.write_page`."""
    _around_plan(path)
    check_writable(path)


def _around_plan(path: Path) -> tuple[str, str]:
    """Return the text of a page before and after the plan; raises InvalidInputError if it has no part for the plan."""
    text = read_text(path) if path.is_file() else ""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise InvalidInputError(f"'{path}' has no part for the plan: add the lines '{BEGIN}' and '{END}' to it")
    before, _, rest = text.partition(BEGIN)
    return before, rest.partition(END)[2]


def plan_all(scale: str, on: Sequence[str], report: Report = no_report) -> AllPlans:
    """Return the plans of all figures that have a scale; nothing is timed. `report` receives what is being done."""
    counts = dict[tuple[str, ...], Work]()
    names = [name for name, figure in FIGURES.items() if scale in figure.scales]
    plans = dict[str, Plan]()
    for number, name in enumerate(names, start=1):
        report(f"{number}/{len(names)} {name}")
        plans[name] = make_plan(name, on, False, counts, scale=scale)
    return AllPlans(scale, plans, tuple(on))


def _core_hours(row: Row) -> float:
    """Return the expected hours on `CORE`; NaN for runs that compute no network."""
    return CORE.seconds(row.work) / 3600 if row.work.flops.total else math.nan


def _gpu_table(names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    def cells(gpu: Any) -> list[str]:
        tensor = "–" if gpu.tensor_teraflops is None else f"{gpu.tensor_teraflops:g}"
        figures = [f"{gpu.teraflops:g}", tensor, f"{gpu.bandwidth:,g}", f"{gpu.memory:g}", f"{gpu.speed:.2f}"]
        return [gpu.title, *figures, gpu.source]

    headings = ["GPU", "TFLOP/s, float32", "TFLOP/s, TF32", "GB/s", "memory, GB", "speed", "source"]
    return headings, [cells(gpu) for gpu in gpus(names)]
