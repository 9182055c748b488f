"""A training in a separate process that kills itself at a chosen point."""

from pathlib import Path
from typing import Any

from killed_run import assert_killed

# A real process that sends itself SIGKILL at a chosen point: no handler, no clean-up.
DRIVER = """
import os, signal, sys
from rich.console import Console
import nasbench1shot1 as nb
from nasbench1shot1.ground import files
from nasbench1shot1.runs import checkpoints, writer
from nasbench1shot1.cell_training import loop

def die(): os.kill(os.getpid(), signal.SIGKILL)

moment, step, what, out, options = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], eval(sys.argv[5])
if moment == "training":
    def kill_in_training(state, real=loop.train_step):
        if state.step == step:
            die()
        return real(state)
    loop.train_step = kill_in_training
elif moment == "evaluation":
    def kill_in_evaluation(state, reporter, real=loop.evaluate):
        if state.step == step:
            die()
        return real(state, reporter)
    loop.evaluate = kill_in_evaluation
elif moment == "metrics":
    def kill_after_half_a_line(self, line, real=writer.RunWriter.append_line):
        if line["step"] == step:
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write('{"step": %d, "epo' % step)
            die()
        real(self, line)
    writer.RunWriter.append_line = kill_after_half_a_line
elif moment == "line":
    def kill_after_the_line(self, line, real=writer.RunWriter.append_line):
        real(self, line)
        if line["step"] == step:
            die()
    writer.RunWriter.append_line = kill_after_the_line
elif moment == "checkpoint":
    def kill_while_writing(path, content, real=checkpoints.save_checkpoint):
        if content["step"] == step:
            with files.atomic_write(path) as file:
                file.write(b"PK half a checkpoint")
                file.flush()
                die()
        real(path, content)
    writer.save_checkpoint = kill_while_writing
elif moment == "summary":
    writer.RunWriter.finish = lambda self, summary: die()
given = {"resume": out} if os.path.exists(out) else {"x": what, "out": out, **options}
nb.train_cell(console=Console(quiet=True), **given)
"""


def assert_training_killed(moment: str, step: int, what: str, out: Path, options: dict[str, Any]) -> None:
    """Train in a process, or resume the training in `out`; the process must die right before or after a step."""
    assert_killed(DRIVER, out, moment, str(step), what, str(out), repr(options))
