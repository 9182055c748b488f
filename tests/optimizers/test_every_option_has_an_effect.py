"""Every option of a search that is off by default changes a tiny search, or is refused."""

import hashlib
from collections.abc import Iterator
from dataclasses import Field, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import torch
from tiny_search import FOR_TINY, tiny_state

from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.ground.errors import UserError
from nasbench1shot1.one_shot_search.loop import evaluate, train_epoch
from nasbench1shot1.one_shot_search.options import SearchConfig
from nasbench1shot1.optimizers.widths import WidthOptimizer
from nasbench1shot1.registry import BUILT_IN, optimizer
from nasbench1shot1.runs.options import _alternatives as alternatives

OFF = (None, False, 0, "none")
WITHOUT_EFFECT_ON_RESULTS = {"keep_weights_every", "compile", "table", "reference", "threads", "format", "style"}
NOT_TESTED_HERE = {
    "image_side": "images are shrunk before the search begins (tests/images/test_shrunk_images.py)",
    "images_per_half": "the tiny search needs it",
    "max_parameters": "bounds change a search only if they exclude networks (test_searches_within_bounds.py)",
    "max_flops": "as max_parameters",
    "max": "as max_parameters",
    "hessian_eigenvalue": "measured in addition (test_hessian.py)",
    "preferred_error": "measured in addition (test_discretisation_measures.py)",
    "early_stopping": "needs more epochs (test_hessian.py)",
    "returned_epoch": "the best epoch of a tiny search may be the last one (test_components_together.py)",
    "evaluation_batch_norm": "a tiny search misclassifies the same images with all values (test_shared_weights.py)",
    "fitness_images": "the best of few architectures may be the same (tests/supernets/test_recalibration.py)",
}
VALUES = {int: (0, 1, 2, 5), float: (0.0, 1e-3, 0.5, 3.0), bool: (True, False)}
DEFAULTS = {"channel_sampling": "first", "controller": "corrected"}
"""The value that an option has if it is not set, where it is not one of `OFF`."""


def is_off(field: Field[Any]) -> bool:
    return any(field.default is value or field.default == value for value in OFF)


def records() -> Iterator[tuple[str, type]]:
    """Each record that declares options, with a method that has them."""
    yield from (("darts", SearchConfig), ("random-ws", SearchConfig))
    seen: set[type] = set()
    for name in BUILT_IN["optimizers"]:
        if issubclass(optimizer(name), WidthOptimizer):  # searches of widths are slow
            continue
        for record in optimizer(name).Hyperparameters.__mro__:
            if record not in seen and vars(record).get("__annotations__"):
                seen.add(record)
                yield name, record


def off_options() -> list[tuple[str, str]]:
    return [
        (name, field.name)
        for name, record in records()
        for field in fields(record)
        if field.name in record.__annotations__
        and is_off(field)
        and field.name not in WITHOUT_EFFECT_ON_RESULTS | NOT_TESTED_HERE.keys()
    ]


def plain(value: Any) -> Any:
    """A value in which equal tensors have equal text."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy().tobytes()
    if isinstance(value, dict):
        return {key: plain(of) for key, of in value.items()}
    return [plain(of) for of in value] if isinstance(value, list | tuple) else value


@cache
def result(method: str, **options: Any) -> str:
    """A digest of everything that a tiny search computes."""
    small = {"optimizer": method, "space": "s1", "epochs": 2, "images_per_half": 8, "batch_size": 4, "image_side": 8}
    state = tiny_state(**{**small, **FOR_TINY.get(method, {}), **options})
    found = hashlib.sha256()
    for epoch in range(state.config.epochs + 1):
        trained = train_epoch(state, epoch, SilentReporter()) if epoch else None
        outcome = evaluate(state, epoch)
        parameters = {key: np.asarray(value).tobytes() for key, value in outcome.parameters.items()}
        found.update(repr((trained, outcome.one_shot_error, str(outcome.architecture), parameters)).encode())
        state.epoch = epoch
    found.update(repr(plain(state.method.state_dict())).encode())
    found.update(repr(plain(dict(state.net.state_dict()))).encode())
    return found.hexdigest()


def values(method: str, name: str) -> Iterator[Any]:
    hints = get_type_hints(SearchConfig) | get_type_hints(optimizer(method).Hyperparameters)
    for kind in alternatives(hints[name]):
        yield from get_args(kind) if get_origin(kind) is Literal else VALUES.get(kind, ())


@pytest.mark.parametrize(("method", "name"), off_options())
def test_an_option_that_is_off_by_default_has_an_effect_or_is_refused(method, name):
    accepted, usual = [], result(method)
    for value in sorted(values(method, name), key=lambda value: value in OFF):  # others first: one effect is enough
        try:
            if result(method, **{name: value}) != usual:
                return
        except UserError:
            continue
        accepted.append(value)
    assert all(value in (*OFF, DEFAULTS.get(name)) for value in accepted), accepted
