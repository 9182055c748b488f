"""The command line as `python -m nasbench1shot1`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path.append(sys.path.pop(0))  # the current folder, whose queue.py must not replace a module of Python
    from nasbench1shot1.cli import main

    main()
