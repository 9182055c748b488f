"""A plan: rows of equal runs with their work and expected hours, as a frame, JSON and CSV, and sentences below it."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.text import duration
from nasbench1shot1.runs.devices import CORE, EFFICIENCY, REFERENCE, SECONDS_PER_IMAGE, TRAINING, USUAL, gpus
from nasbench1shot1.runs.work import Work

if TYPE_CHECKING:
    import pandas

HERE = "hours_here"
"""The column of expected hours on this machine."""
TOTAL = "all"
"""The name of the row with the sum of all runs on screens."""
FORMULA = (
    f"seconds = FLOPs / ({EFFICIENCY:g} × throughput) for searches and rankings. For networks that are trained alone, "
    f"seconds = FLOPs / ({TRAINING:g} × throughput) + images × {1e6 * SECONDS_PER_IMAGE:g} µs / speed. The speed of a "
    f"GPU is its float32 throughput or its memory bandwidth relative to the {REFERENCE.title}, whichever is lower. Its "
    f"throughput is the speed times {REFERENCE.teraflops:g} TFLOP/s."
)
"""How hours on GPUs are calculated."""
CORE_FORMULA = (
    f"On the CPU core ({CORE.title}), seconds = FLOPs / {CORE.searching / 1e9:g} GFLOP/s for searches and rankings, "
    f"and FLOPs / {CORE.training / 1e9:g} GFLOP/s for networks that are trained alone."
)
"""How hours on a CPU core are calculated."""


@dataclass(frozen=True)
class Row:
    """Runs with equal work.

    Attributes:
        part: what they belong to, such as "s1/darts".
        kind: the noun for one of them, such as "search".
        runs: their number.
        work: the work of all of them that is left.
        seconds: expected seconds of all of them on this machine, one after another; None if not measured.
    """

    part: str
    kind: str
    runs: int
    work: Work
    seconds: float | None = None


def total(rows: Sequence[Row], part: str = TOTAL) -> Row:
    """Return one row for at least one row: sums, and the largest memory."""
    first, *others = rows
    work, seconds = first.work, first.seconds
    for row in others:
        work = work.followed_by(row.work)
        seconds = None if seconds is None or row.seconds is None else seconds + row.seconds
    kinds = {row.kind for row in rows}
    return Row(part, kinds.pop() if len(kinds) == 1 else "run", sum(row.runs for row in rows), work, seconds)


@dataclass(frozen=True)
class Plan:
    """What runs need.

    Attributes:
        title: the subject for screens, such as "figure2, full scale: 90 searches of 50 epochs".
        rows: the runs.
        gpus: names of the GPUs whose hours are expected.
        notes: what else must be known, in sentences.
        has_total: whether screens show a sum of all rows.
        name: the figure or the command, for frames.
    """

    title: str
    rows: tuple[Row, ...]
    gpus: tuple[str, ...] = USUAL
    notes: tuple[str, ...] = ()
    has_total: bool = True
    name: str = ""

    @property
    def hours(self) -> list[str]:
        """The columns of expected hours on GPUs."""
        return [f"hours_{name.replace('-', '_')}" for name in self.gpus]

    def values(self, row: Row) -> dict[str, Any]:
        """Return the values of a row by column; hours are NaN on a GPU that has no use or too little memory."""
        work, on = row.work, gpus(self.gpus)
        seconds = [gpu.seconds(work) if work.flops.total and gpu.fits(work) else math.nan for gpu in on]
        return {
            "plan": self.name,
            "part": row.part,
            "kind": row.kind,
            "runs": row.runs,
            "steps": round(work.steps),
            "forward_flops": work.flops.forward,
            "backward_flops": work.flops.backward,
            "gpu_memory": round(work.gpu_memory),
            "memory": round(work.memory),
            "disk": round(work.disk),
            HERE: math.nan if row.seconds is None else row.seconds / 3600,
            **{name: value / 3600 for name, value in zip(self.hours, seconds, strict=True)},
        }

    def as_frame(self) -> "pandas.DataFrame":
        """Return a row for each row of the plan; the attribute `attrs` has the formula and the notes."""
        import pandas

        frame = pandas.DataFrame([self.values(row) for row in self.rows])
        frame.attrs |= {"formula": FORMULA, "notes": list(self.notes)}
        return frame

    def as_dict(self) -> dict[str, Any]:
        """Return the rows, the GPUs with the sources of their figures, the formula and the notes, for JSON."""
        rows = [{name: _or_none(value) for name, value in self.values(row).items()} for row in self.rows]
        known = [{**vars(gpu), "speed": gpu.speed} for gpu in gpus(self.gpus)]
        return {"rows": rows, "gpus": known, "formula": FORMULA, "notes": list(self.notes)}

    def as_json(self) -> str:
        """Return `as_dict` as JSON."""
        return json.dumps(self.as_dict(), indent=1)

    def as_csv(self) -> str:
        """Return the rows as CSV, with full precision."""
        return str(self.as_frame().to_csv(index=False, lineterminator="\n"))


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


# Sentences below plans ------------------------------------------------------------------------------------------------


def duration_note(seconds: float, at_once: int = 1) -> str:
    """Return how long all runs take on this machine, with a number of runs at the same time."""
    together = f"With {at_once} runs at once, this" if at_once > 1 else "This"
    return f"{together} will take {duration(seconds)} on this machine."


def image_notes(names: Iterable[str], is_timed: bool) -> list[str]:
    """Return what follows from missing official data sets, by their names.

    Args:
        names: names of image sets; only missing official data sets have notes.
        is_timed: whether steps were timed, for which random images stand in.
    """
    from nasbench1shot1.images.image_set import not_installed
    from nasbench1shot1.images.stand_ins import is_missing

    missing = list(filter(is_missing, dict.fromkeys(names)))
    timed = [f"Steps are timed on random images of the size of {name}." for name in missing] if is_timed else []
    return [*timed, *(needed_note(not_installed(name)) for name in missing)]


def scoring_note() -> str:
    """Return a note on why scoring with shared weights needs more memory on a GPU than on a CPU."""
    from nasbench1shot1.supernets.weight_sharing import LARGEST_ON_GPU, MAPS_ON_GPU

    fits = f"{MAPS_ON_GPU * LARGEST_ON_GPU / 1e9:.1f} GB"
    return (
        f"GPU memory is an upper bound: a GPU scores many architectures in one pass, which needs up to {fits}; a CPU "
        "does not need this memory."
    )


def needed_note(error: UserError) -> str:
    """Return what must be done before runs can start, from the error that they would end in."""
    return f"Before this can run: {error.for_command_line}."
