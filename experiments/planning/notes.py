"""Sentences below plans: how long runs take, what their times are from, and what is missing before they can run."""

from collections.abc import Iterable

from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.ground.text import duration


def duration_note(seconds: float, at_once: int = 1) -> str:
    """Return how long all runs take on this machine, with a number of runs at the same time."""
    together = f"With {at_once} runs at once, this" if at_once > 1 else "This"
    return f"{together} will take {duration(seconds)} on this machine."


def image_notes(names: Iterable[str], is_timed: bool) -> list[str]:
    """Return what follows from missing official data sets, by their names.

    Args:
        names: names of image sets; only missing official data sets have notes.
        is_timed: whether steps were timed, for which random images stand in.
    """
    from nasbench1shot1.images.image_set import not_installed
    from nasbench1shot1.images.stand_ins import is_missing

    missing = list(filter(is_missing, dict.fromkeys(names)))
    timed = [f"Steps are timed on random images of the size of {name}." for name in missing] if is_timed else []
    return [*timed, *(needed_note(not_installed(name)) for name in missing)]


def scoring_note() -> str:
    """Return a note on why scoring with shared weights needs more memory on a GPU than on a CPU."""
    from nasbench1shot1.supernets.weight_sharing import LARGEST_ON_GPU, MAPS_ON_GPU

    fits = f"{MAPS_ON_GPU * LARGEST_ON_GPU / 1e9:.1f} GB"
    return (
        f"GPU memory is an upper bound: a GPU scores many architectures in one pass, which needs up to {fits}; a CPU "
        "does not need this memory."
    )


def needed_note(error: UserError) -> str:
    """Return what must be done before runs can start, from the error that they would end in."""
    return f"Before this can run: {error.for_command_line}."
