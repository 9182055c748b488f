"""Run the command line with `python -m nasbench1shot1`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path.append(sys.path.pop(0))  # the current folder last: its queue.py must not shadow Python's module
    from nasbench1shot1.cli import main

    main()
