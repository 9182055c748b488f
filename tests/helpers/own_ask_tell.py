"""Outside optimizers with ask and tell, for `nb.AskTell` and `nb.objective`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import nasbench1shot1 as nb
from nasbench1shot1.black_box_search.options import black_box_options


class Sweep:
    """Proposes the architectures of a space in steps from a random start, each as another kind of proposal."""

    def __init__(self, space: nb.SearchSpace, seed: int) -> None:
        self.space, self.place, self.asked, self.told = space, seed, [], []

    def ask(self) -> Any:
        self.place += 977
        arch = self.space[self.place % len(self.space)]
        kinds = (arch, np.array(self.space.values_of(arch)), dict(self.space.to_configuration(arch)))
        self.asked.append(kinds[len(self.asked) % 3])
        return self.asked[-1]

    def tell(self, configuration: Any, values: tuple[float, ...], seconds: float) -> None:
        assert any(configuration is asked for asked in self.asked)
        self.told.append((configuration, values, seconds))


class Halving(Sweep):
    """Trains each architecture for 4 epochs, and every second one for 40.5 epochs afterwards."""

    budgets = (4, 40.5)

    def ask(self) -> Any:
        if len(self.asked) % 3 == 2:
            return self.asked[-1], 40.5
        return super().ask(), 4


class Numbered(Sweep):
    """Proposes architectures by their numbers, with epochs."""

    budgets = (4, 36)

    def ask(self) -> Any:
        self.asked.append(self.space.index(self.space[(self.place + len(self.asked)) % len(self.space)]))
        return self.asked[-1], self.budgets[len(self.asked) % 2]


def sweep(space: nb.SearchSpace, seed: int) -> Sweep:
    return Sweep(space, seed)


def undeclared(space: nb.SearchSpace, seed: int) -> Halving:
    made = Halving(space, seed)
    made.budgets = (4,)
    return made


def nothing(space: nb.SearchSpace, seed: int) -> object:
    return object()


@contextmanager
def until_spent() -> Iterator[None]:
    """Run a loop until the search is over."""
    try:
        yield
    except nb.BudgetSpent:
        return
    raise AssertionError("the loop ended before the search was over")


def drive(optimizer: str, function: nb.Objective, **options: Any) -> None:
    """Search with one of our own optimizers through an objective, until the search is over."""
    common = function.repeats.options.as_dict() | options
    known = {name: value for name, value in common.items() if name not in ("optimizer", "repeats", "first_repeat")}
    given = {name: value for name, value in known.items() if value is not None and name != "format"}
    found = black_box_options({**given, "optimizer": optimizer})
    method = found.method(function.space, found.own, function.default_epochs, function.epochs, function.rng)
    if function.repeats.constraint is not None:
        method.constrain(function.repeats.constraint, 1.0)
    with until_spent():
        number = 0
        while True:
            query = method.ask()
            number += 1
            arch = query.architecture
            proposal = (arch, function.indices(arch), function.configuration(arch))[number % 3]
            answer = function(proposal, query.epochs)
            if not answer.is_trained:
                method.reject(query)
                continue
            assert (answer.architecture, answer.epochs) == (query.architecture, query.epochs)
            method.tell(query, answer.cost, answer.seconds)
