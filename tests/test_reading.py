"""How a recorded Λ reads as mixing weights: as the relaxation of each method gives it."""

import json
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from refusals import exits
from rich.console import Console
from tiny_search import FOR_CELLS, FOR_TINY, generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.one_shot_search.entropy import learned_weights
from nasbench1shot1.optimizers.components.relaxation import RELAXATIONS
from nasbench1shot1.reading import Reading


def read(state: Any, epoch: int = 1) -> dict[str, np.ndarray]:
    """Return the mixing weights of a search as pictures show them."""
    method = state.method
    parameters = {key: value.detach().numpy() for key, value in method.parameters.items()}
    reading = type(method).reading(method.hyperparameters, epoch, state.config.epochs)
    return reading.weights(parameters, method.space, method.structure())


def mixed(state: Any) -> dict[str, np.ndarray]:
    """Return the weights with which the one-shot error is measured."""
    return {key: value.detach().numpy() for key, value in state.method.evaluation_mixing().weights.items()}


@pytest.mark.parametrize("space", ["s1", "nb201"])
@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "darts"},
        {"optimizer": "fair-darts"},
        {"optimizer": "drnas"},
        {"optimizer": "gaea"},
        {"optimizer": "darts", "temperature_max": 4.0, "temperature_min": 0.5},
        {"optimizer": "fair-darts", "temperature_max": 4.0},
        {"optimizer": "sgas", "decision_start": 1, "batch_increase": 0},
        {"optimizer": "darts-pt", "selection_epochs": 3},
        {"optimizer": "darts-pt", "selection_epochs": 3, "relaxation": "sigmoid"},
        {"optimizer": "drnas-progressive", "channels": 4, "warm_start_epochs": 0},
        {"optimizer": "is-darts", "shrink_steps": 3, "shrink_interval": 1},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_pictures_show_the_weights_of_the_methods_own_relaxation(options, space):
    state = tiny_state(space=space, **options)
    for epoch in (1, 3):
        state.method.rehearse(epoch, state.phases)
        state.method.begin_epoch(epoch, state.config.epochs, generator(1))
        shown, wanted = read(state, epoch), mixed(state)
        assert shown.keys() == wanted.keys()
        for key, weights in wanted.items():
            np.testing.assert_allclose(np.nan_to_num(shown[key]), weights, rtol=1e-5, atol=1e-7)
            assert (weights[np.isnan(shown[key])] == 0).all()
    excludes = any(np.isnan(weights).any() for weights in shown.values())
    assert excludes == (options["optimizer"] in ("sgas", "darts-pt", "drnas-progressive", "is-darts"))


@pytest.mark.parametrize("relaxation", ["gumbel-operations", "reinmax"])
def test_samples_of_operations_have_the_shown_weights_on_average(relaxation):
    space = nb.search_space("s1")
    parameters = {key: torch.randn(shape, generator=generator(3)) for key, shape in space.mixing_shapes().items()}
    repeated = {key: value.expand(4000, *value.shape) for key, value in parameters.items()}
    drawn = RELAXATIONS[relaxation](space, repeated, 5.0, generator(4)).weights["operations"]
    shown = Reading().weights(parameters, space)["operations"]
    np.testing.assert_allclose(drawn.mean(dim=0).numpy(), shown, atol=0.04)


@pytest.mark.parametrize("optimizer", FOR_CELLS)
def test_every_method_has_finite_weights_with_the_shapes_of_lambda(optimizer):
    state = tiny_state(**{"optimizer": optimizer, **FOR_TINY.get(optimizer, {})})
    shown = read(state)
    assert {key: weights.shape for key, weights in shown.items()} == state.method.space.mixing_shapes()
    assert all(((weights >= 0) & (weights <= 1)).all() for weights in shown.values())


def test_extreme_values_of_lambda_neither_warn_nor_overflow():
    extreme = {"operations": np.array([[-1e4, 0.0, 1e4]])}
    space = nb.search_space("s1")
    for form in ("softmax", "sigmoid", "dirichlet", "equal"):
        weights = Reading(form, form).weights(extreme, None)["operations"]
        assert np.isfinite(weights).all() and (weights >= 0).all()
    assert np.isnan(
        Reading("sigmoid").weights(extreme | _edges(space), space, {"operations[0]": [1]})["operations"][0, 0]
    )


def _edges(space: nb.OneShotSpace) -> dict[str, np.ndarray]:
    return {key: np.zeros(shape) for key, shape in space.mixing_shapes().items() if key != "operations"}


def test_a_search_that_became_longer_is_read_with_the_temperatures_that_it_had(tmp_path):
    options = {"optimizer": "darts", "temperature_max": 5.0, "epochs": 2}
    search(tmp_path / "run", **options)
    run = nb.search(resume=tmp_path / "run", epochs=3, console=Console(quiet=True))
    assert [run.reading(epoch).temperature for epoch in range(4)] == [5.0, 5.0, 1.0, 1.0]
    assert str(run.reading(1)) == "softmax of Λ/τ"


def test_captions_name_only_the_weights_that_a_space_has(tmp_path):
    run = search(tmp_path / "run", optimizer="fair-darts", space="nb201", epochs=1)
    caption = nb.draw_cells(run)[0].figure.get_supxlabel().replace("\n", " ")
    assert "sigmoids of Λ" in caption
    assert "(operations)" not in caption and "(edges)" not in caption
    reading = Reading("sigmoid", temperature=2.0)
    assert reading.describe(has_edges=False) == "sigmoids of Λ/τ"
    assert reading.describe(has_operations=False) == "softmax of Λ/τ"
    assert reading.describe() == str(reading) == "sigmoids of Λ/τ (operations), softmax of Λ/τ (edges)"


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        ("fair-darts", "sigmoids of Λ (operations), softmax of Λ (edges)"),
        ("drnas", "means of the Dirichlet distributions of Λ"),
        ("darts", "softmax of Λ"),
        ("is-darts", "equal shares of all candidates"),
    ],
)
def test_captions_of_cells_say_which_weights_are_drawn(optimizer, words, tmp_path):
    run = search(tmp_path / "run", **{"optimizer": optimizer, "epochs": 1, **FOR_TINY.get(optimizer, {})})
    drawn = nb.draw_cells(run)
    caption = drawn[0].figure.get_supxlabel().replace("\n", " ")
    assert f"widths, and numbers at the preferred operations: {words}" in caption
    assert ("dotted: excluded edge" in caption) == (optimizer == "is-darts")
    shown = [
        f"{run.mixing_weights(1)['operations'][row, op]:.2f}" for row, op in enumerate(run.architectures[1].operations)
    ]
    labels = [text.get_text() for text in drawn[1].texts]
    assert all(any(weight in label for label in labels) for weight in shown)


def test_the_caption_of_an_edge_cell_names_only_marks_that_it_can_have(tmp_path):
    run = search(tmp_path / "run", space="nb201", optimizer="sgas", **FOR_TINY["sgas"])
    caption = nb.draw_cells(run)[0].figure.get_supxlabel().replace("\n", " ")
    assert "excluded one; frame: decided operation" in caption
    assert "dotted" not in caption and "thick" not in caption


def test_random_search_has_no_weights_to_draw(tmp_path):
    run = search(tmp_path / "run", optimizer="random-ws", epochs=1, **FOR_TINY["random-ws"])
    assert learned_weights(run, [0, 1]) == {}
    assert "widths" not in nb.draw_cells(run)[0].figure.get_supxlabel()


def test_no_module_is_imported_to_read_lambda(tmp_path):
    run = search(tmp_path / "run", optimizer="fair-darts", epochs=1)
    folder = shutil.copytree(run.folder, tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    config["options"]["optimizer"] = "somewhere_else:Method"
    (folder / "config.json").write_text(json.dumps(config))
    code = "import sys, nasbench1shot1 as nb; print(nb.load_run(sys.argv[1]).reading(1), 'torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["softmax", "of", "Λ", "False"]
    note = "optimizer somewhere_else:Method is not imported, so weights are drawn as the softmax of Λ."
    assert note in nb.draw_cells(folder)[0].figure.get_supxlabel().replace("\n", " ")
    assert "not imported" not in nb.draw_cells(run)[0].figure.get_supxlabel()


def test_the_run_of_a_class_of_another_script_can_be_reported(tmp_path, capsys):
    run = search(tmp_path / "run", optimizer="fair-darts", epochs=1)
    config = json.loads((run.folder / "config.json").read_text())
    config["options"]["optimizer"] = "__main__:OfAnotherScript"
    (run.folder / "config.json").write_text(json.dumps(config))
    cli.main(["report", str(run.folder), "--out", str(tmp_path / "scored")])
    cli.main(["report", str(run.folder), "--html", str(tmp_path / "page.html")])
    assert (tmp_path / "scored" / "regret.png").exists() and (tmp_path / "page.html").exists()
    note = "The optimizer __main__:OfAnotherScript belongs to another script or notebook"
    assert note in nb.draw_cells(run.folder)[0].figure.get_supxlabel().replace("\n", " ")
    capsys.readouterr()
    with exits(capsys, "'__main__:OfAnotherScript'", "from there"):
        cli.main(["search", "--resume", str(run.folder), "--epochs", "2"])
