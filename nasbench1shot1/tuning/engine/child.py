"""The process of a local worker, which ends with its parent: `python -m …tuning.engine.child WORKER-AS-JSON`."""

import json
import sys
import threading
from functools import partial
from importlib import import_module
from pathlib import Path

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.jobs.process import end_with_parent
from nasbench1shot1.tuning.engine.interfaces import Pace
from nasbench1shot1.tuning.engine.worker import run_worker


def main(arguments: list[str]) -> None:
    """Run the worker; after a UserError, the last line of standard error is its sentence, and the exit code is 2."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    worker = json.loads(arguments[0])
    folder = Path(worker["folder"])
    module, _, function = worker["evaluation"].partition(":")
    try:
        evaluate = getattr(import_module(module), function)(folder)
        run_worker(
            folder, evaluate, name=worker["name"], pace=Pace(**worker["pace"]), print_line=partial(print, flush=True)
        )
    except UserError as error:
        print(f"nb1shot1: {error.for_command_line}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
