"""What errors say about a one-shot optimizer outside the package that does not keep the interface."""

import io
import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from refusals import exits, refuses
from tiny_search import search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1 import cli, registry
from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.ground.errors import DivergedError
from nasbench1shot1.one_shot_search.loop import evaluate, phase_and_structure, train_epoch
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.adam import AdamOptimizer
from nasbench1shot1.optimizers.darts import DARTS


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        ("mixing", {}, "Mixing(weights), dict"),
        ("mixing", Mixing(path="s1:0"), "nb.Architecture, str"),  # type: ignore[arg-type]
        ("weight_mixing", None, "Mixing(weights), None"),
        ("evaluation_mixing", (), "Mixing(weights), tuple"),
        ("weight_loss", None, "scalar tensor, None"),
        ("architecture", "s1:0", "nb.Architecture, str"),
        ("frozen_weights", None, "names of weights, None"),
        ("state_dict", None, "dict, None"),
        ("structure", [], "dict, list"),
    ],
)
def test_an_error_names_the_method_that_returned_another_type(method, result, words):
    def returns(self: nb.OneShotOptimizer, *loss: torch.Tensor) -> Any:
        return result

    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {method: returns})
    with refuses(nb.InvalidInputError, f"Mine.{method}() must return", *words.split(", ")):
        train_epoch(state, 1, SilentReporter())
        evaluate(state, 1)
        phase_and_structure(state)
        state.state_dict()


@pytest.mark.parametrize("method", ["mixing", "weight_mixing", "evaluation_mixing"])
@pytest.mark.parametrize(
    ("convert", "given"),
    [
        (lambda weights: {key: value.detach().numpy() for key, value in weights.items()}, "ndarray"),
        (lambda weights: weights["operations"], "Tensor"),
        (lambda weights: list(weights), "list"),
        (lambda weights: (weights, [1.0]), "list"),
    ],
)
def test_an_error_names_the_method_that_returned_other_weights(method, convert, given):
    def converted(self: nb.OneShotOptimizer) -> Mixing:
        return Mixing(convert(getattr(DARTS, method)(self).weights))

    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {method: converted})
    with refuses(nb.InvalidInputError, f"Mine.{method}()", "mixing weights that map names to tensors", given):
        train_epoch(state, 1, SilentReporter())
        evaluate(state, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda loss: loss.expand(3), "scalar, (3,)"),
        (lambda loss: loss.expand(2, 1), "scalar, (2, 1)"),
        (lambda loss: loss.detach(), "gradient, detach()"),
    ],
)
def test_an_error_names_the_method_whose_loss_has_no_backward_pass(change, words):
    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {"weight_loss": lambda self, loss: change(loss)})
    with refuses(nb.InvalidInputError, "Mine.weight_loss()", *words.split(", ")):
        train_epoch(state, 1, SilentReporter())


def test_an_error_names_the_method_that_prefers_an_architecture_of_another_space():
    state, other = tiny_state(optimizer="darts"), nb.search_space("s3")[7]
    state.method.__class__ = type("Mine", (DARTS,), {"architecture": lambda self: other})
    with refuses(nb.InvalidInputError, "Mine.architecture()", f"'{other}'", f"not in {state.method.space.name}"):
        evaluate(state, 0)


def test_an_error_names_a_frozen_weight_that_does_not_exist():
    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {"frozen_weights": lambda self: ["nope"]})
    with refuses(nb.InvalidInputError, "Mine.frozen_weights()", "nope"):
        train_epoch(state, 1, SilentReporter())


@pytest.mark.parametrize(
    ("method", "entry", "place", "value"),
    [
        ("state_dict", {"best": np.float64(3)}, "['best']", "np.float64(3.0)"),
        ("state_dict", {"seen": [(0, np.zeros(2))]}, "['seen'][0][1]", "array([0., 0.])"),
        ("state_dict", {"seen": {np.int64(3): 1}}, "['seen']", "np.int64(3)"),
        ("structure", {"share": torch.tensor(1.0)}, "['share']", "tensor(1.)"),
        ("structure", {"share": [np.float32(0.5)]}, "['share'][0]", "np.float32(0.5)"),
        ("structure", {"share": {(1, 2): 0.5}}, "['share']", "(1, 2)"),
        ("structure", {"share": float("nan")}, "['share']", "nan"),
    ],
)
def test_an_error_names_what_a_run_cannot_store(method, entry, place, value):
    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {method: lambda self: {**getattr(DARTS, method)(self), **entry}})
    with refuses(nb.InvalidInputError, f"Mine.{method}(){place}", value):
        phase_and_structure(state)
        state.state_dict()


def test_a_state_may_have_all_that_checkpoints_restore():
    found = {
        "n": None,
        "t": (1, 2.5),
        "text": "a",
        3: {True: b"x"},
        "of": {1, 2},
        "d": torch.float32,
        "p": torch.nn.Parameter(torch.ones(1)),
    }
    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {"state_dict": lambda self: found})
    assert state.method.state_dict() is found
    torch.save(found, buffer := io.BytesIO())
    assert torch.load(io.BytesIO(buffer.getvalue()), weights_only=True).keys() == found.keys()


class FailingInEpoch2(DARTS):
    """A method with an error that appears after the first recorded epochs."""

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        super().begin_epoch(epoch, epochs, generator)
        assert epoch < 2


def test_an_error_in_the_class_ends_with_the_command_that_resumes_the_search(tmp_path):
    with pytest.raises(AssertionError) as raised:
        search(tmp_path / "run", optimizer=FailingInEpoch2)
    (note,) = raised.value.__notes__
    command = f"nb1shot1 search --resume {tmp_path}/run --allow-module {__name__}"
    assert note.endswith(f"continue with {command}") and f"your module {__name__}, or in code that it called: " in note
    with pytest.raises(ZeroDivisionError) as raised:
        search(tmp_path / "other", optimizer="darts", callbacks=[lambda epoch: 1 / 0])
    assert not hasattr(raised.value, "__notes__")


class ExitingInEpoch2(DARTS):
    """A method that exits Python after the first recorded epochs."""

    def begin_epoch(self, epoch: int, epochs: int, generator: torch.Generator) -> None:
        super().begin_epoch(epoch, epochs, generator)
        if epoch == 2:
            sys.exit()


def test_a_class_that_exits_python_ends_with_an_error_and_the_command_that_resumes_the_search(tmp_path):
    with refuses(nb.UserError, f"your module {__name__}", "exited Python", options="resume allow_module"):
        search(tmp_path / "run", optimizer=ExitingInEpoch2)
    assert len(nb.open_run(tmp_path / "run").lines) == 2

    def stop(epoch: object) -> None:
        sys.exit(3)

    with pytest.raises(SystemExit) as ended:  # of the user's script
        search(tmp_path / "other", optimizer="darts", callbacks=[stop])
    assert ended.value.code == 3


@pytest.mark.parametrize("returned", ["mixing", "weight_mixing", "evaluation_mixing"])
def test_an_error_names_the_method_that_returned_nan(returned):
    def undefined(self: nb.OneShotOptimizer) -> Mixing:
        mixing = getattr(DARTS, returned)(self)
        return mixing.with_tensors(value / 0 - value / 0 for value in mixing.tensors())

    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {returned: undefined})
    with refuses(DivergedError, f"Mine.{returned}()", "NaN", "epoch 1", options=""):
        train_epoch(state, 1, SilentReporter())
        evaluate(state, 1)


def test_an_error_names_the_method_that_returned_a_loss_of_nan():
    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {"weight_loss": lambda self, loss: loss * math.nan})
    with refuses(DivergedError, "Mine.weight_loss()", "NaN", "epoch 1: correct the method"):
        train_epoch(state, 1, SilentReporter())


def test_a_loss_that_is_changed_in_place_is_not_blamed_for_weights_of_nan():
    def increased(self: nb.OneShotOptimizer, loss: torch.Tensor) -> torch.Tensor:
        loss += 0.1
        return loss

    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {"weight_loss": increased})
    with torch.no_grad():
        next(state.net.parameters()).fill_(math.nan)
    with refuses(DivergedError, "the training loss diverged", "lower learning_rate="):
        train_epoch(state, 1, SilentReporter())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda method: vars(method).pop("generator"), "Mine.__init__() must set generator: call super().__init__("),
        (
            lambda method: vars(method).update(parameters=[]),
            "output_edges, but it is an object of type list",
        ),
        (
            lambda method: method.parameters.update(operations=np.zeros(3)),
            "output_edges, but 'operations' is an object of type ndarray",
        ),
        (
            lambda method: method.parameters.popitem(),
            "output_edges, but 'output_edges' is missing",
        ),
    ],
)
def test_an_error_names_what_the_initialiser_has_not_set(change, words):
    class Mine(DARTS):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            change(self)

    state = tiny_state(optimizer="darts")
    options = replace(state.options, method=Mine)
    with refuses(nb.InvalidInputError, words, options=""):
        options.create_method(state.net.space, torch.Generator(), torch.device("cpu"))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("with_exit", "import sys\n\nsys.exit(0)\n", "'with_exit' exits Python"),
        ("with_error", "def broken(:\n    pass\n", "with_error.py, line 1 (invalid syntax)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_refused(tmp_path, monkeypatch, capsys, name, text, words):
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with exits(capsys, words):
        cli.main(["search", "--optimizer", f"{name}:Mine", "--scale", "quick", "--out", str(tmp_path / "run")])
    with exits(capsys, words):
        cli.main(["report", "run", "--allow-module", name])
    assert not (tmp_path / "run").exists()


def test_a_module_with_the_name_of_one_of_python_is_named():
    with refuses(nb.InvalidInputError, "random:Mine", "'random' is a module of Python", options=""):
        registry.optimizer("random:Mine")


def test_only_passes_of_known_types_are_computed():
    state = tiny_state(optimizer="darts")
    weights = state.method.mixing().weights
    for score in (lambda: state.logits(weights, None), lambda: state.shared_weights(0).errors([weights])):
        with refuses(nb.InvalidInputError, "Mixing(weights)"):
            score()


class Mine(DARTS):
    """A correct method, except for what a test changes."""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("weight_loss", lambda self: None, "Mine.weight_loss() must accept the arguments (self, loss), not (self)"),
        ("descend", lambda self: None, "Mine.descend() must accept the arguments (self, gradients), not (self)"),
        (
            "phases",
            lambda self, epochs: [],
            "Mine.phases() must accept the arguments (self, epochs, warm_start_epochs)",
        ),
        ("check_space", classmethod(lambda cls: None), "Mine.check_space() must accept the arguments (space), not ()"),
        ("mixing", 3, "Mine.mixing must be a method, not an object of type int"),
        ("trains_weights_first", lambda self: False, "Mine.trains_weights_first must be a property, not a method"),
    ],
)
def test_an_error_names_a_method_or_property_that_does_not_fit_its_base(monkeypatch, name, value, words):
    method = type("Mine", (DARTS,), {name: value, "__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Mine", method)
    with refuses(nb.InvalidInputError, words, options=""):
        registry.optimizer(f"{__name__}:Mine")


def test_methods_and_properties_may_have_other_names_defaults_and_values(monkeypatch):
    fitting = {
        "weight_loss": lambda self, cross_entropy, *, factor=1.0: factor * cross_entropy,
        "adjust_gradients": lambda *anything: None,
        "trains_weights_first": True,
        "own": lambda self: None,
    }
    method = type("Mine", (DARTS,), {**fitting, "__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Mine", method)
    assert registry.optimizer(f"{__name__}:Mine") is method


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda gradients: gradients[:1], "not (3,)"),
        (lambda gradients: (), "not nothing"),
        (lambda gradients: (None, gradients[0]), "not None, (3,)"),
    ],
)
def test_an_error_names_the_shapes_that_gradients_of_the_parameters_must_have(change, given):
    def descend(self: AdamOptimizer, gradients: tuple[torch.Tensor | None, ...]) -> None:
        DARTS.descend(self, change(gradients))

    state = tiny_state(optimizer="darts")
    state.method.__class__ = type("Mine", (DARTS,), {"descend": descend})
    with refuses(nb.InvalidInputError, "Mine must give descend()", "(4, 3) for operations", given, options=""):
        train_epoch(state, 1, SilentReporter())


@pytest.mark.parametrize("name", ["scorings", "mixture_scorings", "scorings_at_end"])
@pytest.mark.parametrize(("result", "words"), [(7, "object of type int"), ([(1, 2), 3], "list with 3")])
def test_an_error_names_the_method_that_returned_no_pairs(name, result, words):
    method = type("Mine", (DARTS,), {name: lambda self, batch_size, images: result})
    state = tiny_state(optimizer="darts")
    state.method.__class__ = method
    with refuses(nb.InvalidInputError, f"Mine.{name}() must return a list of pairs", words, options=""):
        getattr(state.method, name)(20, 40)
