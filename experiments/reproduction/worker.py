"""One search in a process of its own, which ends when its parent does: `python -m …worker FOLDER OPTIONS-AS-JSON`.

The parent holds the other end of standard input. When it is gone, however it went, so is this process: what a killed
search leaves can be resumed, and no orphan keeps a folder locked.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from nasbench1shot1.errors import UserError
from nasbench1shot1.runs.folder import CONFIG


def main(arguments: list[str]) -> None:
    """Search, or go on; the last line of standard error says why it could not (exit 2)."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        run_job(Path(arguments[0]), json.loads(arguments[1]))
    except UserError as error:
        print(f"nb1shot1: {error}", file=sys.stderr)
        sys.exit(2)


def run_job(folder: Path, options: dict[str, Any]) -> None:
    """Bring the search in `folder` to its end; one that is finished, or whose process just began, is no obstacle."""
    from nasbench1shot1.one_shot_search.searching import search

    if (folder / CONFIG).is_file():
        search(resume=folder)
    else:
        search(out=folder, **options)


def _end_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
