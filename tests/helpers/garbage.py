"""Fewer garbage collections: none while a process imports modules, and rare ones afterwards.

A full collection visits half a million objects of imported modules and takes 0.3 s. In a forked process, it also copies
their memory. Importing this module disables garbage collections.
"""

import gc

gc.disable()


def collect_rarely() -> None:
    """Exempt all existing objects from garbage collections, also in processes forked later, and enable rare ones."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
