"""The state of an estimate, and its loop."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.runs.checkpoints import checked_restore
from nasbench1shot1.runs.writer import RunWriter


@dataclass
class State:
    seed: int
    points: int
    batches: int
    recorded: int = 0
    inside: int = 0

    def state_dict(self) -> dict[str, Any]:
        return {"run": {"seed": self.seed}, "recorded": self.recorded, "inside": self.inside}

    def load_state_dict(self, state: dict[str, Any], path: Path) -> None:
        with checked_restore(state, path, {"seed": self.seed}, "estimate"):
            self.recorded, self.inside = state["recorded"], state["inside"]


def estimate(state: State, writer: RunWriter[Any], console: Any) -> None:
    console.print(f"estimating π, after batch {state.recorded}")
    for batch in range(state.recorded, state.batches):
        points = np.random.default_rng((state.seed, batch)).random((state.points, 2))
        found = int(((points**2).sum(1) < 1).sum())
        state.inside += found
        state.recorded = batch + 1
        if state.inside == state.points * state.recorded:
            raise UserError("every point is inside: draw more points")
        estimated = 4 * state.inside / (state.points * state.recorded)
        writer.append_line({"batch": batch, "inside": found, "estimate": estimated})
        writer.save(state)
