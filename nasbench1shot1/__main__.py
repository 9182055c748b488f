"""Run the command line with `python -m nasbench1shot1`.

Python itself imports a few modules, such as `types` and `enum`, before this file runs. If the current folder has files
with these names, use the command `nb1shot1`, or `python -P -m nasbench1shot1`.
"""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path.append(sys.path.pop(0))  # the current folder last: its queue.py must not shadow Python's module
    from nasbench1shot1.cli import main

    main()
