"""The kind: `estimate_pi` starts or resumes an estimate."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import matplotlib.pyplot as plt
import numpy as np

from nasbench1shot1.runs.folder import COMMON, CONFIG
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.options import Range, check_ranges, make_options, recorded_options
from nasbench1shot1.runs.record import RunRecord
from nasbench1shot1.runs.running import run
from nasbench1shot1.runs.writer import RunWriter
from pi_estimate.loop import State, estimate


@dataclass(frozen=True, kw_only=True)
class PiOptions:
    seed: Annotated[int, Range(0)] = 0
    points: Annotated[int, Range(1)] = 100
    batches: Annotated[int, Range(1)] = 5
    threads: Annotated[int, Range(1)] = 1
    device: str = "cpu"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def sections(self) -> dict[str, dict[str, Any]]:
        return {COMMON: self.as_dict()}


class PiEstimate(RunRecord):
    KIND, COMMAND, PICTURE = "pi estimate", "estimate-pi", "estimate.png"
    FIELDS, OPTIONS, FACTS = {"batch": int, "inside": int, "estimate": float}, PiOptions, {"generator": str}
    FILES = (PICTURE,)


class PiKind(Kind[PiOptions, State, PiEstimate, RunWriter[PiEstimate]]):
    RECORD, WRITER, MAY_GROW, WORD, REPLACES = PiEstimate, RunWriter, ("batches",), "estimate", (PiEstimate,)

    def options(self, given: Mapping[str, Any]) -> PiOptions:
        options = make_options(PiOptions, given, {})
        check_ranges(options)
        return options

    def recorded_options(self, run: PiEstimate) -> PiOptions:
        return recorded_options(PiOptions, run.config, run.folder / CONFIG)

    def default_folder(self, options: PiOptions) -> Path:
        return Path(f"runs/pi-{options.seed}")

    def begin(self, options: PiOptions, resumed: PiEstimate | None) -> Begun[State]:
        state = State(options.seed, options.points, options.batches)
        return Begun(state, {"generator": type(np.random.default_rng().bit_generator).__name__})

    def loop(self, begun: Begun[State], writer: RunWriter[PiEstimate], console: Any) -> None:
        estimate(begun.state, writer, console)

    def summarise(self, run: PiEstimate, begun: Begun[State]) -> dict[str, Any]:
        return {"estimate": run.lines[-1]["estimate"]}

    def present(self, run: PiEstimate, begun: Begun[State], console: Any) -> None:
        figure, axes = plt.subplots()
        axes.plot([line["estimate"] for line in run.lines])
        figure.savefig(run.folder / PiEstimate.PICTURE)
        plt.close(figure)
        console.print(f"π is about {run.summary['estimate']}")


def estimate_pi(**arguments: Any) -> PiEstimate:
    names = ("out", "resume", "overwrite", "console")
    return run(
        PiKind(),
        {name: value for name, value in arguments.items() if name not in names},
        **{name: arguments[name] for name in names if name in arguments},
    )
