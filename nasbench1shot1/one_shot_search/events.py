"""Phases and decisions of a search, for screens and pictures: when a phase begins, and what was excluded."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas

from nasbench1shot1.ground.text import counted
from nasbench1shot1.phases import USUAL
from nasbench1shot1.space import Choice, OneShotSpace

Structure = Mapping[str, Any]
"""What a method has changed in the supernet (`OneShotOptimizer.structure`)."""
LISTED = 2
"""Largest number of decisions that a line lists; more are counted."""


def phase_names(frame: pandas.DataFrame, warm_start_epochs: int) -> list[str]:
    """Return the name of the phase of every epoch from epoch 1.

    Args:
        frame: the metrics of a search. Records do not name the usual phases.
        warm_start_epochs: the option of the search.
    """
    recorded = frame["phase"] if "phase" in frame else pandas.Series(None, frame.index, dtype=object)
    usual = [USUAL[0] if epoch <= warm_start_epochs else USUAL[1] for epoch in frame["epoch"]]
    names = [name if isinstance(name, str) else own for name, own in zip(recorded, usual, strict=True)]
    return names[1:]


def phase_starts(names: Sequence[str]) -> dict[int, str]:
    """Return the first epoch of every phase with its name, given the names from epoch 1; empty for a single phase."""
    previous = (None, *names)
    starts = {epoch: name for epoch, name in enumerate(names, start=1) if name != previous[epoch - 1]}
    return starts if len(starts) > 1 else {}


def decision_epochs(frame: pandas.DataFrame) -> list[int]:
    """Return the epochs in which a choice was decided, or candidates were excluded or frozen."""
    if "structure" not in frame:
        return []
    lists = [_lists(structure) for structure in frame["structure"]]
    epochs: Iterable[Any] = frame["epoch"].iloc[1:]
    return [int(epoch) for epoch, old, new in zip(epochs, lists, lists[1:], strict=False) if new != old]


EVENTS = {"decided": "decisions", "excluded": "exclusions", "frozen": "frozen operations"}
"""Nouns for the kinds of changes that `describe_decisions` lists."""


def describe_events(frames: Iterable[pandas.DataFrame], space: OneShotSpace | None) -> str:
    """Return which kinds of changes searches have, such as "exclusions and decisions".

    Args:
        frames: the metrics of the searches.
        space: their space; without it, all changes are called decisions.
    """
    lists = [[_lists(structure) for structure in frame["structure"]] for frame in frames if "structure" in frame]
    changes = [pair for of_frame in lists for pair in pairwise(of_frame)]
    texts = [] if space is None else [describe_decisions(space, old, new) for old, new in changes]
    found = [noun for word, noun in EVENTS.items() if any(f"{word}: " in text for text in texts)]
    return " and ".join(found) or EVENTS["decided"]


def _lists(structure: Any) -> dict[str, Any]:
    """Return what a structure lists; numbers in it, such as a falling factor, are not decisions."""
    found = structure.items() if isinstance(structure, Mapping) else ()
    return {name: value for name, value in found if isinstance(value, list)}


def describe_decisions(space: OneShotSpace, before: Structure, after: Structure) -> str:
    """Return what changed between two epochs, such as "decided: operation of block 1: conv3x3"; empty if nothing did.

    Args:
        space: the space of the search.
        before: the structure after the previous epoch.
        after: the structure after this epoch.
    """
    old, new = _lists(before), _lists(after)
    changed = [choice for choice in space.choices() if new.get(str(choice)) != old.get(str(choice))]
    decided = [choice for choice in changed if len(_left(choice, new)) == choice.picks]
    others = [choice for choice in changed if choice not in decided]
    frozen = sorted(set(new.get("frozen", [])) - set(old.get("frozen", [])))
    parts = [
        _part("decided", [space.describe_entries(c, _left(c, new)) for c in decided], "choice"),
        _excluded(space, others, old, new),
        _part("frozen", frozen, "operation"),
    ]
    return "; ".join(filter(None, parts))


def _left(choice: Choice, lists: Mapping[str, Any]) -> Sequence[int]:
    found: Sequence[int] = lists.get(str(choice), range(choice.entries))
    return found


def _part(what: str, names: Sequence[str], noun: str) -> str:
    if not names:
        return ""
    return f"{what}: {', '.join(names)}" if len(names) <= LISTED else f"{what}: {counted(len(names), noun)}"


def _excluded(space: OneShotSpace, choices: Sequence[Choice], old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return which candidates of choices that are not decided were excluded."""
    gone = {choice: sorted(set(_left(choice, old)) - set(_left(choice, new))) for choice in choices}
    number = sum(map(len, gone.values()))
    if number > LISTED:
        return f"excluded: {counted(number, 'candidate')} of {counted(len(gone), 'choice')}"
    return _part("excluded", [space.describe_entries(choice, of) for choice, of in gone.items() if of], "candidate")
