"""The rules for counting the architectures of a choice-block space; the paper's Table 1 uses several."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from nasbench1shot1.nasbench101.cell import OPERATIONS
from nasbench1shot1.search_spaces.wirings import Wiring, read_blocks
from nasbench1shot1.space import Numbers


class Countable(Protocol):
    """The part of a `ChoiceBlockSpace`'s interface that counting needs."""

    paper_loose_end_rule: str

    @property
    def wirings(self) -> Sequence[Wiring]:
        """Return all wirings."""

    @property
    def loose_end_free_wirings(self) -> Sequence[int]:
        """Return the positions of the wirings without loose ends."""

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of all architectures of a kind."""

    def __len__(self) -> int: ...


def counting_rules(space: Countable, kind: str) -> dict[str | None, Callable[[], int]]:
    """Return the ways to count a kind of architectures, by the names that `ChoiceBlockSpace.count` documents."""
    if kind == "unique":
        return dict.fromkeys((None, "paper"), lambda: len(space.numbers(kind)))
    if kind == "no_loose_ends":
        return {
            None: lambda: len(space.numbers(kind)),
            "paper": lambda: _with_read_blocks(space, space.loose_end_free_wirings),
        }
    rules: dict[str | None, Callable[[], int]] = {
        "encodings": lambda: len(space),
        "read-blocks": lambda: _with_read_blocks(space, range(len(space.wirings))),
    }
    return {None: rules["encodings"], **rules, "paper": rules[space.paper_loose_end_rule]}


def _with_read_blocks(space: Countable, wirings: Iterable[int]) -> int:
    """Count the operation choices of some wirings, only for blocks that a live or dead node reads."""
    return sum(len(OPERATIONS) ** len(read_blocks(space.wirings[i])) for i in wirings)
