"""`nb.AskTell`: an optimizer of another library, with `ask` and `tell`, as a black-box optimizer of this package."""

import sys
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from nasbench1shot1.black_box_optimizer import Query
from nasbench1shot1.choices import Choices, Proposal, snap
from nasbench1shot1.ground.errors import InvalidInputError, alternatives, shorten
from nasbench1shot1.ground.text import counted
from nasbench1shot1.optimizers.black_box.trials import TrialOptimizer
from nasbench1shot1.space import SearchSpace


class AskAndTell(Protocol):
    """What `make(space, seed)` returns. An optimizer that proposes budgets also has the attribute `budgets`."""

    def ask(self) -> Any:
        """Return the next configuration, or a pair of configuration and epochs; None to wait for a result or end."""

    def tell(self, configuration: Any, values: tuple[float, ...], seconds: float) -> None:
        """Receive the result of a configuration that `ask` returned."""


Make = Callable[[SearchSpace, int], AskAndTell]


class AskTell:
    """An outside optimizer for `nb.black_box`: `nb.black_box(nb.AskTell(make), space="s1", simulated_workers=8)`.

    The study runs repeated searches on the simulated clock, with any number of simulated workers, and can be resumed.
    Its optimizer is recorded as "module:make", and `make` is the label of its curve. See docs/objective.md.

    Args:
        make: a function or class at the top level of a module or script. `make(space, seed)` returns a new optimizer
            for one search. It has the methods `ask()` and `tell(configuration, values, seconds)`. A configuration is
            anything that `nb.objective` accepts. `values` is a tuple of costs, here only the validation error. If `ask`
            returns pairs of configuration and epochs, the optimizer must list its budgets in the attribute `budgets`.

    Raises:
        InvalidInputError: `make` cannot be called, or cannot be found by its name.
    """

    def __init__(self, make: Make) -> None:
        if not callable(make):
            raise InvalidInputError(
                f"nb.AskTell needs a function make(space, seed) that returns an optimizer, not {shorten(repr(make))}"
            )
        module, name = getattr(make, "__module__", None), getattr(make, "__qualname__", "")
        if "." in name or getattr(sys.modules.get(str(module)), name or "?", None) is not make:
            raise InvalidInputError(
                f"{shorten(repr(make))} cannot be found by its name, which a study records: define it with `def` or "
                "`class` at the top level of a module or script"
            )
        self.make = make
        self.reference = f"{module}:{name}"

    def __repr__(self) -> str:
        return f"AskTell({self.reference})"


class _Trial(NamedTuple):
    """A configuration as an optimizer proposed it, and what it means."""

    configuration: Any
    proposal: Proposal
    epochs: int


class AskTellOptimizer(TrialOptimizer):
    """Passes the calls of a search to an outside optimizer; `optimizer_class` returns the subclass of one `make`.

    Raises:
        InvalidInputError: the result of `make` lacks `ask` or `tell`, or its `budgets` are not numbers.
    """

    make: ClassVar[Make]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._choices = _choices(self.space)
        self._own: Any = type(self).make(self.space, int(self.rng.integers(2**32)))
        for method in ("ask", "tell"):
            if not callable(getattr(self._own, method, None)):
                raise InvalidInputError(
                    f"{type(self).__name__}(space, seed) returned {shorten(repr(self._own))}, which lacks "
                    f"{method}(): return an object with ask() and tell(configuration, values, seconds)"
                )
        named = getattr(self._own, "budgets", None)
        if named is not None and not (isinstance(named, Collection) and len(named)):
            raise InvalidInputError(
                f"the attribute `budgets` of {type(self._own).__name__} is {shorten(repr(named))}: give a list of "
                "numbers of epochs, or remove it"
            )
        budgets = (self.epochs,) if named is None else [snap(epochs, self.budgets) for epochs in named]
        self._used = tuple(sorted(set(budgets)))

    @property
    def used_budgets(self) -> tuple[int, ...]:
        """The optimizer's own `budgets`, as budgets of the table; by default, only `epochs`."""
        return self._used

    def next_trial(self) -> _Trial | None:
        """Return the optimizer's next configuration. Raises InvalidInputError if it cannot be read."""
        if (found := self._own.ask()) is None:
            return None
        configuration, epochs = found if self._has_epochs(found) else (found, self.epochs)
        return _Trial(configuration, self._choices.read(configuration), self._budget(epochs))

    def _has_epochs(self, found: Any) -> bool:
        """Return whether `ask` returned a pair of configuration and epochs, rather than a vector of two choices."""
        is_pair = isinstance(found, tuple) and len(found) == 2
        return is_pair and (len(self._choices.by_name) != 2 or not isinstance(found[0], int | np.integer))

    def _budget(self, epochs: Any) -> int:
        budget = snap(epochs, self.budgets)
        if budget not in self._used:
            raise InvalidInputError(
                f"{type(self).__name__} asked for a training of {counted(budget, 'epoch')}, which is not "
                f"{alternatives(self._used)}: list all its budgets in the attribute `budgets` of the optimizer"
            )
        return budget

    def training(self, trial: _Trial) -> Query:
        """Return the training of a configuration."""
        if (arch := trial.proposal.architecture) is None:
            raise InvalidInputError(f"the choices {trial.proposal.values} are not in {self.space.name}")
        return Query(arch, trial.epochs)

    def observe(self, trial: _Trial, validation_error: float) -> None:
        """Tell the optimizer the error of a configuration that is not trained, at no cost."""
        self.finish(trial, validation_error, 0.0)

    def finish(self, trial: _Trial, validation_error: float, seconds: float) -> None:
        """Tell the optimizer the result of a training; the configuration is the one that `ask` returned."""
        self._own.tell(trial.configuration, (validation_error,), seconds)


@lru_cache(64)
def optimizer_class(make: Make) -> type[AskTellOptimizer]:
    """Return the class of black-box optimizers that `make` creates, the same class for the same function."""
    name = getattr(make, "__name__", "AskTell")
    return type(name, (AskTellOptimizer,), {"make": staticmethod(make), "__module__": __name__})


@lru_cache(8)
def _choices(space: SearchSpace) -> Choices:
    return Choices(space)
