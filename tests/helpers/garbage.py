"""Fewer garbage collections: none while a process imports modules, and rare ones afterwards.

A full collection visits all objects of imported modules, half a million. It takes 0.3 s, and as long again in every
forked process, which also copies them. Importing this module disables garbage collections.
"""

import gc

gc.disable()


def collect_rarely() -> None:
    """Exempt all existing objects from garbage collections, also in processes forked later, and enable rare ones."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
