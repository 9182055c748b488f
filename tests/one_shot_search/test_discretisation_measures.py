"""The error of the preferred architecture alone, and the alignment of the cells; what cannot change a search."""

import numpy as np
import pytest
import torch
from refusals import refuses
from tiny_search import search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.images.batches import batches
from nasbench1shot1.one_shot_search.measurements import cell_alignment, preferred_error
from nasbench1shot1.optimizer import Mixing

MEASURED = {"preferred_error": True, "cell_alignment": True}


def test_the_alignment_is_the_mean_cosine_of_the_cells_gradients():
    """Each cell's gradient by a pass in which only this cell's mixing weights are differentiated."""
    state = tiny_state(space="nb201", cells=3, channels=4)
    rows = next(batches(state.split.architecture, state.config.batch_size, state.generator("alignment", 1)))
    batch = state.images_of(rows, state.augmentation(1), None)
    weights = {name: weight.detach() for name, weight in state.net.named_parameters()}
    softmax = torch.softmax(state.method.parameters["operations"].detach(), -1)
    state.net.train()
    gradients = []
    for cell in range(3):
        copies = [softmax.clone() for _ in range(3)]
        copies[cell].requires_grad_()
        loss = state.loss_at(weights, Mixing(tuple({"operations": copy} for copy in copies)), batch)
        gradients.append(torch.autograd.grad(loss, copies[cell])[0].flatten().numpy().astype(np.float64))
    a, b, c = (gradient / np.linalg.norm(gradient) for gradient in gradients)
    assert cell_alignment(state, 1) == pytest.approx((a @ b + a @ c + b @ c) / 3, abs=1e-5)


def test_the_preferred_error_is_that_of_the_architecture_alone():
    state = tiny_state(space="nb201", cells=3, channels=4, evaluation_batch_norm="running")
    arch = state.method.architecture()
    state.net.eval()
    images, labels = state.images.batch(torch.from_numpy(state.split.architecture))
    with torch.no_grad():
        logits = state.logits(Mixing(path=arch), state.augmentation(1).normalise(images))
    expected = (logits.argmax(dim=1) != labels).float().mean().item()
    assert preferred_error(state, 1, arch) == pytest.approx(expected)


@pytest.mark.parametrize(("space", "optimizer"), [("nb201", "darts"), ("s1", "gdas"), ("nb201", "snas")])
def test_measuring_does_not_change_the_search(tmp_path, space, optimizer):
    few = {"space": space, "optimizer": optimizer, "cells": 2, "epochs": 2}
    few |= {"evaluation_noise": True} if optimizer == "snas" else {}
    measured, plain = search(tmp_path / "measured", **few, **MEASURED), search(tmp_path / "plain", **few)
    for key, values in measured.architecture_parameters.items():
        assert np.array_equal(values, plain.architecture_parameters[key])
    own, clock = {"preferred_one_shot_error", "cell_alignment"}, {"search_seconds", "simulated_seconds"}
    for line, other in zip(measured.lines, plain.lines, strict=True):
        assert own <= set(line) and not own & set(other)
        assert 0 <= line["preferred_one_shot_error"] <= 1 and -1 <= line["cell_alignment"] <= 1
        assert {k: v for k, v in line.items() if k not in own | clock | {"other_datasets"}} == {
            k: v for k, v in other.items() if k not in clock | {"other_datasets"}
        }
    assert not {"preferred_error", "cell_alignment"} & set(plain.config)


def test_a_measurement_does_not_change_another(tmp_path):
    noisy = {"space": "nb201", "optimizer": "snas", "cells": 2, "epochs": 1, "evaluation_noise": True}
    alone = search(tmp_path / "alone", **noisy, cell_alignment=True)
    both = search(tmp_path / "both", **noisy, cell_alignment=True, hessian_eigenvalue=True)
    aligned = [[line["cell_alignment"] for line in run.lines] for run in (alone, both)]
    errors = [[line["one_shot_validation_error"] for line in run.lines] for run in (alone, both)]
    assert aligned[0] == aligned[1] and errors[0] == errors[1]


def test_measured_searches_resume_to_the_same_record(tmp_path):
    options = {"space": "nb201", "cells": 2, **MEASURED}
    whole, part = search(tmp_path / "whole", epochs=2, **options), search(tmp_path / "part", epochs=1, **options)
    assert [line["cell_alignment"] for line in part.lines] == [line["cell_alignment"] for line in whole.lines[:2]]
    again = nb.load_run(tmp_path / "whole")
    assert list(again.metrics["preferred_one_shot_error"]) == [line["preferred_one_shot_error"] for line in whole.lines]


def test_statistics_of_batch_norm_for_evaluation_do_not_change_a_search_with_darts(tmp_path):
    """Λ and weights learn in training mode, so docs/nasbench201_search.md varies these statistics only in SETN."""
    options = {"space": "nb201", "cells": 2, "epochs": 2}
    found = [search(tmp_path / name, evaluation_batch_norm=name, **options) for name in ("running", "batch")]
    one, other = [run.architecture_parameters["operations"] for run in found]
    assert np.array_equal(one, other)
    assert [line["train_loss"] for line in found[0].lines] == [line["train_loss"] for line in found[1].lines]
    errors = [[line["one_shot_validation_error"] for line in run.lines] for run in found]
    assert errors[0] != errors[1]


@pytest.mark.parametrize(
    ("options", "words", "named"),
    [
        ({"cells": 1}, "several cells", "cell_alignment cells"),
        ({"optimizer": "random-ws", "cells": 2}, "random-ws", "cell_alignment"),
        ({"space": "nats-size", "channels": 64, "cells": 3}, "nats-size", "cell_alignment"),
    ],
)
def test_alignment_needs_several_cells_that_share_lambda(tmp_path, options, words, named):
    with refuses(nb.InvalidInputError, words, options=named):
        search(tmp_path / "run", cell_alignment=True, **options)
    assert not (tmp_path / "run").exists()
