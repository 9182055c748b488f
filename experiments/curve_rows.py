"""Distribution of a figure's curves over rows of panels, so that no axis has more than five curves."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

from nasbench1shot1.display.colours import MOST_CURVES


def curve_rows(panels: Iterable[Sequence[str]], kinds: Mapping[str, str] | None = None) -> list[list[str]]:
    """Return the keys of the curves in each row of a figure; all panels of a row have these curves.

    A single row has all curves if no panel has more than `MOST_CURVES`. Otherwise, each kind of curve has its own row,
    or several rows of nearly equal lengths if a panel has too many curves of this kind.

    Args:
        panels: the keys of the curves of each panel; a curve has the same key in all panels.
        kinds: the kind of each curve, such as "black-box optimizers". Default: all are of one kind.
    """
    listed = list(panels)
    keys = list(dict.fromkeys(chain.from_iterable(listed)))
    by_kind: dict[str, list[str]] = {}
    for key in keys:
        by_kind.setdefault((kinds or {}).get(key, ""), []).append(key)
    if _fits(keys, listed):
        return [keys]
    return [row for own in by_kind.values() for row in ([own] if _fits(own, listed) else _evenly(own))]


def _fits(keys: Sequence[str], panels: Sequence[Sequence[str]]) -> bool:
    """Return whether all panels can show the curves with these keys in one row."""
    return all(len(set(keys) & set(panel)) <= MOST_CURVES for panel in panels)


def _evenly(keys: Sequence[str]) -> list[list[str]]:
    """Split keys into the fewest rows of at most `MOST_CURVES`, of nearly equal lengths; earlier rows are longer."""
    rows = -(-len(keys) // MOST_CURVES)
    length, longer = divmod(len(keys), rows)
    starts = [row * length + min(row, longer) for row in range(rows + 1)]
    return [list(keys[start:end]) for start, end in pairwise(starts)]
