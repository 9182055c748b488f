"""The process of one job, `python -m nasbench1shot1.jobs.child JOB-AS-JSON`, which ends when its parent does.

The parent holds the other end of standard input. When the parent ends for any reason, this process also ends. A killed
run can therefore be resumed, and no orphan keeps a folder locked.
"""

import json
import os
import sys
import threading
from pathlib import Path

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.jobs.job import run_until_finished, wait_until_free


def main(arguments: list[str]) -> None:
    """Run the job; after a UserError, the last line of standard error is its message, and the exit code is 2."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    job = json.loads(arguments[0])
    folder = Path(job["folder"])
    try:
        wait_until_free(folder, job["patience"])
        run_until_finished(job["command"], folder, job["options"], job["resume_options"])
    except UserError as error:
        print(f"nb1shot1: {error.for_command_line}", file=sys.stderr)
        sys.exit(2)


def end_with_parent() -> None:
    """Wait until the other end of standard input is closed, then end this process."""
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
