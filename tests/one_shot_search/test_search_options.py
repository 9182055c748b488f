"""Sources of option values: layers of defaults, and options of a single optimizer."""

from dataclasses import MISSING, dataclass, fields
from typing import get_type_hints

import pytest
import torch
from refusals import refuses
from tiny_search import search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1 import registry
from nasbench1shot1.images.image_set import ImageSet
from nasbench1shot1.one_shot_search.beginning import begin, load_halves
from nasbench1shot1.one_shot_search.options import SearchConfig, check_method, search_options
from nasbench1shot1.one_shot_search.state import SearchState
from nasbench1shot1.optimizer import Hyperparameters
from nasbench1shot1.optimizers.darts import DARTS
from nasbench1shot1.scales import HALVES
from nasbench1shot1.supernets.presets import PRESETS

OPTIMIZERS = (
    *("darts", "darts-second-order", "gdas", "pc-darts", "snas", "random-ws", "enas", "setn"),
    *("tas", "fbnetv2", "tunas"),
    *("beta-darts", "drnas", "gaea", "lambda-darts", "darts-pt", "spos", "fair-darts", "rf-darts"),
    *("sdarts-rs", "sdarts-adv", "darts-minus", "oles", "idarts", "is-darts"),
    *("sgas", "drnas-progressive"),
)
SELECTING = ("random-ws", "enas", "setn", "spos")

COMMON = {
    "epochs": 50,
    "batch_size": 96,
    "learning_rate": 0.025,
    "learning_rate_min": 0.001,
    "momentum": 0.9,
    "weight_decay": 3e-4,
    "grad_clip": 5.0,
    "channels": 16,
    "cells": 9,
    "partial_channels": 1,
    "warm_start_epochs": 0,
    "perturbation": "none",
    "cutout_length": 16,
    "cutout_probability": 0.0,
    "hessian_eigenvalue": False,
    "early_stopping": False,
    "images": "cifar10",
}
ADAM = {"architecture_learning_rate": 3e-4, "architecture_weight_decay": 1e-3, "architecture_grad_clip": 0.0}
GRADIENT = {
    **ADAM,
    "relaxation": "softmax",
    "temperature_max": 1.0,
    "temperature_min": 1.0,
    "temperature_ends_after": False,
    "draws": 1,
    "evaluation_noise": False,
    "update": "first-order",
}
HARD = {"relaxation": "gumbel-operations", "temperature_max": 10.0, "architecture_grad_clip": 5.0}
WIDTHS = {"grad_clip": 0.0, "warm_up_ratio": 0.3, "weights_first": False, "draws": 1, "evaluation_noise": False}
ANNEALED = {"temperature_max": 10.0, "temperature_min": 0.1}
REINFORCE = {"baseline_decay": 0.95, "baseline_includes_current": False, "reward_in_percent": False}
SAMPLING = {"batch_size": 64, "grad_clip": 0.25, "candidates": 1000, "candidate_batches": 10, "finalists": 5}
QUICK = {"epochs": 15, "batch_size": 64, "channels": 8, "cells": 3, "images": "cifar10-sample", "image_side": 16}
FEW = {"candidates": 100, "candidate_batches": 2}

LEVELS = {"levels": "bilevel", "training_images": "weight-half"}
CORRECTED = {
    "darts": GRADIENT,
    "darts-second-order": {**GRADIENT, "update": "second-order"},
    "gdas": {**GRADIENT, **HARD, "temperature_min": 0.1},
    "pc-darts": {**GRADIENT, "partial_channels": 4},
    "snas": {**GRADIENT, "relaxation": "gumbel", "temperature_max": 1.0, "temperature_min": 0.03},
    "random-ws": SAMPLING,
    "enas": {**SAMPLING, "weight_decay": 1e-4, "candidates": 100, "controller_steps": 300},
    "setn": {**ADAM, **SAMPLING, "grad_clip": 5.0, "candidates": 100},
    "tas": {
        **GRADIENT,
        **WIDTHS,
        **ANNEALED,
        "relaxation": "interpolation",
        "cost_weight": 2.0,
        "cost_tolerance": 0.05,
    },
    "fbnetv2": {**GRADIENT, **WIDTHS, **ANNEALED, "relaxation": "gumbel"},
    "tunas": {**ADAM, **WIDTHS, **REINFORCE, "architecture_weight_decay": 0.0, "cost_weight": 0.1},
    "beta-darts": {**GRADIENT, "epochs": 100, "term": "beta"},
    "drnas": {**GRADIENT, "epochs": 100, "relaxation": "dirichlet"},
    "gaea": {
        **GRADIENT,
        "rule": "exponentiated-gradient",
        "architecture_learning_rate": 0.1,
        "architecture_weight_decay": 0.0,
        **LEVELS,
    },
    "lambda-darts": {
        **GRADIENT,
        "epochs": 100,
        "architecture_learning_rate": 1e-4,
        "alignment": 0.25,
        "alignment_step": 1e-4,
    },
    "darts-pt": {
        **GRADIENT,
        "epochs": 125,
        "selection_epochs": 25,
        "selection_learning_rate": 0.1,
        "selection_mode": "evaluation",
        "selection_keeps_momentum": True,
    },
    "spos": {
        "training_images": "weight-half",
        **SAMPLING,
        "grad_clip": 5.0,
        "candidates": 50,
        "finalists": 1,
        "generations": 20,
        "population": 50,
        "survivors": 10,
        "crossovers": 25,
        "mutations": 25,
        "mutation_probability": 0.1,
        "recalibration_batches": 1,
        "fitness_images": 0,
    },
    "fair-darts": {
        **GRADIENT,
        **LEVELS,
        "relaxation": "sigmoid",
        "term": "zero-one",
        "architecture_learning_rate": 3e-3,
    },
    "rf-darts": {**GRADIENT, "batch_norm_affine": True},
    "sdarts-rs": {**GRADIENT, "epochs": 100, "perturbation": "random"},
    "sdarts-adv": {**GRADIENT, "epochs": 100, "perturbation": "adversarial"},
    "darts-minus": {**GRADIENT, "skip_max": 1.0, "skip_ends_after": False},
    "oles": {**GRADIENT, "threshold": None, "window": 20, "summed_gradients": False},
    "idarts": {**GRADIENT, "update": "implicit", "weight_steps": 5},
    "is-darts": {
        "epochs": 30,
        "batch_size": 64,
        "training_images": "weight-half",
        "shrink_steps": 4,
        "shrink_interval": 2,
        "pooled_variance": True,
        "preview_batches": 10,
    },
    "sgas": {
        **GRADIENT,
        "epochs": 60,
        "criterion": 1,
        "decision_start": 10,
        "decision_interval": 5,
        "stability_window": 4,
        "batch_increase": 8,
    },
    "drnas-progressive": {
        **GRADIENT,
        "relaxation": "dirichlet",
        "epochs": 100,
        "partial_channels": 4,
        "warm_start_epochs": 10,
        "kept_share": 0.6,
        "second_partial_channels": 2,
    },
}
"""What the paper's scripts set, 50 epochs everywhere, GDAS's temperature as in its own paper."""

PUBLISHED_WIDTHS = {"epochs": 100, "draws": 6, "evaluation_noise": True, "weights_first": True}
ORIGINAL = {
    "gdas": {
        "epochs": 100,
        "temperature_min": 1.0,
        "temperature_ends_after": True,
        "draws": 9,
        "evaluation_noise": True,
    },
    "pc-darts": {"epochs": 100},
    "enas": {"candidates": 1000, "candidate_batches": 1, "controller_average_parents": True},
    "tas": PUBLISHED_WIDTHS,
    "fbnetv2": PUBLISHED_WIDTHS,
    "tunas": {**PUBLISHED_WIDTHS, "baseline_includes_current": True, "reward_in_percent": True},
    "beta-darts": {"term_epochs": 100},
    "drnas": {"evaluation_noise": True},
    "drnas-progressive": {"evaluation_noise": True},
    "sgas": {"batch_size": 64},
    "darts-pt": {"selection_mode": "training", "selection_keeps_momentum": False},
    "fair-darts": {"learning_rate": 0.005, "batch_size": 128, "architecture_beta1": 0.9},
    "gaea": {"returned_epoch": "best"},
    "sdarts-rs": {"perturbation_variant": "published"},
    "sdarts-adv": {"perturbation_variant": "published"},
    "spos": {
        "evaluation_batch_norm": "recalibrated",
        "recalibration_batches": 200,
        "fitness_images": 8000,
        "own_images": True,
        "augment_scored_images": False,
    },
    "darts-minus": {"batch_size": 64, "skip_ends_after": True},
    "is-darts": {"training_images": "all"},
    "oles": {
        "batch_size": 64,
        "summed_gradients": True,
        "clipped_gradients": True,
        "window_counts_one_more": True,
    },
}
"""In what the published code differs."""

QUICK_OWN = {
    **{"random-ws": FEW, "enas": {**FEW, "controller_steps": 30}, "setn": FEW},
    "is-darts": {"preview_batches": 2},
    "spos": {
        "candidates": 20,
        "candidate_batches": 2,
        "generations": 5,
        "recalibration_batches": 1,
        "fitness_images": 0,
    },
}
OF_LENGTH = {
    *("architecture_learning_rate", "warm_start_epochs", "selection_epochs", "decision_start", "decision_interval"),
    *("shrink_interval", "term_epochs", "cosine_epochs"),
}
"""Options whose defaults follow the length of the search."""


def expected(optimizer: str, preset: str, scale: str) -> dict:
    values = {**COMMON, **CORRECTED[optimizer]}
    if preset == "original":
        values |= ORIGINAL.get(optimizer, {})
    if scale == "quick":
        values |= QUICK | QUICK_OWN.get(optimizer, {})
        values = {name: value for name, value in values.items() if name not in OF_LENGTH}
    return values


@pytest.mark.parametrize("scale", ["full", "quick"])
@pytest.mark.parametrize("preset", ["corrected", "original"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_method_has_defaults_for_every_preset_and_scale(optimizer, preset, scale):
    config = search_options({"optimizer": optimizer, "preset": preset, "scale": scale})
    wanted = expected(optimizer, preset, scale)
    assert {name: config.as_dict()[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("optimizer", "space", "wanted"),
    [  # Λ's rate: full rate × steps of the full scale / steps of the quick scale, rounded to two digits
        ("darts", "s1", {"architecture_learning_rate": 0.0075}),  # 3e-4 × 50 × ⌈20,000 / 96⌉ / (15 × ⌈1,750 / 64⌉)
        ("darts", "nb201", {"architecture_learning_rate": 0.0077}),  # 3e-4 × 50 × ⌈25,000 / 64⌉ / (15 × ⌈1,610 / 32⌉)
        ("gdas", "nb201", {"architecture_learning_rate": 0.038}),  # 250 epochs
        ("beta-darts", "s1", {"architecture_learning_rate": 0.015}),  # 100 epochs
        ("gaea", "s1", {"architecture_learning_rate": 2.5}),
        ("darts-pt", "s1", {"selection_epochs": 3}),  # 25 of 125
        ("drnas-progressive", "s1", {"warm_start_epochs": 2}),  # 10 of 100, rounded to even
        ("is-darts", "s1", {"shrink_interval": 1}),  # at least one epoch
        ("darts", "s1", {"warm_start_epochs": 0}),  # none stays none
    ],
)
def test_at_the_quick_scale_schedules_keep_their_share_and_the_parameters_travel_as_far(optimizer, space, wanted):
    found = search_options({"optimizer": optimizer, "space": space, "scale": "quick"}).as_dict()
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("space", ["s1", "nb201", "nats-size"])
def test_the_bundled_images_of_a_scheme_are_counted_right(space):
    """Steps of the quick scale follow from the size of the halves, which are only known once images are loaded."""
    options = search_options({"space": space, "scale": "quick"})
    _, halves = load_halves(options.common)
    scheme = registry.one_shot(registry.search_space(space)).split or PRESETS["corrected"].split
    assert len(halves.weights) == HALVES[scheme]["quick"]


def test_a_given_number_of_epochs_does_not_change_the_rate_of_a_scale():
    found = search_options({"optimizer": "darts", "scale": "quick", "epochs": 3}).as_dict()
    assert found["architecture_learning_rate"] == 0.0075


def test_the_full_scale_keeps_every_default():
    found = search_options({"optimizer": "darts-pt"}).as_dict()
    assert (found["architecture_learning_rate"], found["selection_epochs"]) == (3e-4, 25)


def test_the_table_contains_all_built_in_methods():
    assert set(OPTIMIZERS) == set(registry.BUILT_IN["optimizers"])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_user_values_override_every_layer(optimizer):
    given = {"epochs": 7, "batch_size": 11, "channels": 12, "grad_clip": 1.5, "partial_channels": 2}
    own = {"candidates": 77, "finalists": 3} if optimizer in SELECTING else {"architecture_learning_rate": 0.7}
    own = {"shrink_steps": 3} if optimizer == "is-darts" else own
    for preset in ("corrected", "original"):
        config = search_options({"optimizer": optimizer, "preset": preset, "scale": "quick", **given, **own})
        assert {name: config.as_dict()[name] for name in (*given, *own)} == {**given, **own}


def test_none_means_not_given():
    options = {"optimizer": "gdas", "preset": "original"}
    assert search_options({**options, "images_per_half": None, "evaluation_batch_norm": None}) == search_options(
        options
    )


def recorded_if_given(record) -> set[str]:
    """The options that config.json only has if they are given, such as bounds."""
    hints = get_type_hints(record, include_extras=True)
    return {name for name, hint in hints.items() if "IfGiven" in str(hint)}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_resolved_configuration_is_rebuilt_from_its_record(optimizer):
    config = search_options({"optimizer": optimizer, "preset": "original", "scale": "quick", "threads": 1})
    again = search_options(config.as_dict())
    assert again.as_dict() == config.as_dict()
    common, own = (
        {
            name: value
            for name, value in vars(record).items()
            if value is not None or name not in recorded_if_given(type(record))
        }
        for record in (config.common, config.own)
    )
    assert config.sections() == {"options": common, "optimizer_options": own}
    assert set(vars(config.own)) == {field.name for field in fields(config.method.Hyperparameters)}
    assert set(config.as_dict()) == common.keys() | own.keys()
    assert {"batch_norm_affine", "max_flops", "max"} <= recorded_if_given(SearchConfig)
    given = {"optimizer": optimizer, "preset": "original", "scale": "quick"}
    bounded = search_options({**given, "max_flops": 1e8, "max": "latency=5"})
    assert set(bounded.as_dict()) == set(config.as_dict()) | {"max_flops", "max"}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_option_of_a_method_has_a_default_and_a_unique_name(optimizer):
    kind = registry.optimizer(optimizer)
    common = {field.name for field in fields(SearchConfig)}
    for field in fields(kind.Hyperparameters):
        assert field.name not in common
        assert field.default is not MISSING
    known = common | {field.name for field in fields(kind.Hyperparameters)}
    of_families = [*kind.family_defaults.values(), *kind.original_family_defaults.values()]
    of_scales = kind.scale_defaults.values()
    assert {*kind.defaults, *kind.original_defaults}.union(*of_families, *of_scales) <= known
    assert set(kind.scale_defaults) <= {"long", "medium", "quick"}


@pytest.mark.parametrize(
    ("optimizer", "option", "sentence"),
    [
        ("darts", "candidates", "candidates= does not apply to darts: remove it (only random-ws, enas"),
        ("random-ws", "temperature_max", "temperature_max= does not apply to random-ws: remove it (only darts, "),
        ("gdas", "controller_steps", "controller_steps= does not apply to gdas: remove it (only enas has it)"),
        ("gdas", "temperature_mx", "unknown option 'temperature_mx'; did you mean 'temperature_max'?"),
        ("enas", "controller_step", "unknown option 'controller_step'; did you mean 'controller_steps'?"),
    ],
)
def test_an_option_of_another_method_is_refused(optimizer, option, sentence):
    with pytest.raises(nb.InvalidInputError) as caught:
        search_options({"optimizer": optimizer, option: 1})
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


@dataclass(frozen=True, kw_only=True)
class Undecided(Hyperparameters):
    """An optimizer with an option without a default."""

    width: int
    """How wide."""


class Bare(DARTS):
    Hyperparameters = Undecided


def test_a_user_option_without_a_default_is_refused_in_one_sentence():
    with pytest.raises(nb.InvalidInputError, match="'width'"):
        search_options({"optimizer": f"{__name__}:Bare", "width": 3})


@dataclass(frozen=True, kw_only=True)
class Colliding(Hyperparameters):
    """An optimizer with an option that every search has."""

    epochs: int = 3
    """How many."""


class Collides(DARTS):
    Hyperparameters = Colliding


def test_a_user_option_with_a_common_name_is_refused_in_one_sentence():
    with pytest.raises(nb.InvalidInputError, match="'epochs'"):
        check_method(Collides)
    with refuses(nb.InvalidInputError, "epochs"):
        nb.search(Collides, scale="quick")


@pytest.mark.parametrize("name", ["kind", "grown", "table_id", "out", "seeds", "options", "allow_module"])
def test_a_user_option_cannot_have_a_reserved_name(name):
    own = dataclass(frozen=True, kw_only=True)(
        type("Own", (Hyperparameters,), {"__annotations__": {name: int}, name: 3, "__doc__": "One option."})
    )
    with refuses(nb.InvalidInputError, "Method", name):
        check_method(type("Method", (DARTS,), {"Hyperparameters": own}))


class Misspelt(DARTS):
    defaults = {"epohcs": 3}  # noqa: RUF012


class MisspeltOriginal(DARTS):
    original_defaults = {"epohcs": 3}  # noqa: RUF012


class MisspeltOriginalFamily(DARTS):
    original_family_defaults = {"nasbench201": {"epohcs": 3}}  # noqa: RUF012


class OwnOriginals(DARTS):
    defaults = {"momentum": 0.1, "cells": 2}  # noqa: RUF012
    original_defaults = {"momentum": 0.2, "weight_decay": 0.2}  # noqa: RUF012
    family_defaults = {"nasbench101": {"momentum": 0.3, "grad_clip": 0.3}}  # noqa: RUF012
    original_family_defaults = {  # noqa: RUF012
        "nasbench101": {"weight_decay": 0.4, "batch_size": 44, "epochs": 44},
        "nasbench201": {"weight_decay": 0.5},
    }


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("corrected", {"cells": 2, "momentum": 0.3, "grad_clip": 0.3, "weight_decay": 3e-4, "batch_size": 96}),
        ("original", {"cells": 2, "momentum": 0.2, "grad_clip": 0.3, "weight_decay": 0.4, "batch_size": 44}),
    ],
)
def test_published_defaults_of_a_benchmark_apply_under_preset_original_only(preset, expected):
    given = {"optimizer": f"{__name__}:OwnOriginals", "space": "s1", "preset": preset}
    full = search_options(given).as_dict()
    assert {name: full[name] for name in expected} == expected
    assert full["epochs"] == (44 if preset == "original" else 50)
    assert search_options({**given, "scale": "quick"}).common.epochs == 15  # the scale overrides the method
    assert search_options({**given, "weight_decay": 0.9}).common.weight_decay == 0.9


@pytest.mark.parametrize("kind", [Misspelt, MisspeltOriginal, MisspeltOriginalFamily])
def test_a_misspelt_default_of_a_user_method_is_named(kind):
    with pytest.raises(nb.InvalidInputError, match="mean 'epochs'"):
        search_options({"optimizer": f"{__name__}:{kind.__name__}", "preset": "original"})


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"evaluation_batch_norm": "recalibrate"}, "recalibrated"),
        ({"partial_channels": 0}, "partial_channels 0"),
        ({"partial_channels": 3, "channels": 8}, "partial_channels=3 8"),
        ({"warm_start_epochs": -1}, "warm_start_epochs 1"),
        ({"warm_start_epochs": 5, "epochs": 5}, "warm_start_epochs=5 5"),
        ({"optimizer": "pc-darts", "channels": 2}, "partial_channels=4 2"),
        ({"relaxation": "sparsemax"}, "sparsemax"),
        ({"draws": True}, "draws True"),
        ({"optimizer": "gdas", "draws": 10**9}, "draws 1,000"),
        ({"epochs": 10**400}, "epochs 1,000,000 smaller"),
        ({"epochs": -(10**400)}, "epochs 1,000,000 larger"),
        ({"seed": 10**400}, "seed 9223372036854775807"),
        ({"epochs": 10**12}, "epochs 1,000,000"),
        ({"learning_rate": 10**400}, "learning_rate 1e+38"),
        ({"temperature_min": "low"}, "temperature_min low"),
        ({"learning_rate": 1e39}, "learning_rate 1e+38 1e+39"),
        ({"weight_decay": 1e308}, "weight_decay 1e+38 1e+308"),
        ({"architecture_learning_rate": 1e39}, "architecture_learning_rate 1e+38 1e+39"),
        ({"architecture_weight_decay": 1e39}, "architecture_weight_decay 1e+38 1e+39"),
    ],
)
def test_bad_values_are_refused_in_one_sentence_and_write_nothing(tmp_path, options, values):
    with refuses(nb.InvalidInputError, *values.split()):
        nb.search(out=tmp_path / "run", scale="quick", images_per_half=40, **options)
    assert not (tmp_path / "run").exists()


@dataclass(frozen=True, kw_only=True)
class Listed(Hyperparameters):
    """An optimizer with an option whose type the command line cannot parse."""

    widths: tuple[int, ...] = (1, 2)
    """How wide."""


class Lists(DARTS):
    Hyperparameters = Listed


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        (f"{__name__}:Lists", "widths"),
        (":x", ":x"),
        (".a:b", ".a:b"),
        ("json:dumps", "json:dumps"),
        ("nasbench1shot1.optimizer:OneShotOptimizer", "load_state_dict, mixing, state_dict"),
    ],
)
def test_anything_but_an_optimizer_is_refused_in_one_sentence(reference, named):
    with refuses(nb.InvalidInputError, named):
        search_options({"optimizer": reference})


@pytest.mark.parametrize("optimizer", SELECTING)
@pytest.mark.parametrize(
    ("option", "value"), [("hessian_eigenvalue", True), ("perturbation", "random"), ("perturbation", "adversarial")]
)
def test_single_path_methods_refuse_options_that_need_mixing_weights(tmp_path, optimizer, option, value):
    with refuses(nb.InvalidInputError, optimizer, options=option):
        search(tmp_path / "run", optimizer=optimizer, **{option: value})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("scale", ["full", "quick"])
def test_the_size_of_an_optimizer_is_the_default_at_full_scale(scale):
    config = search_options({"optimizer": f"{__name__}:Small", "scale": scale})
    assert (config.common.channels, config.common.cells) == ((4, 2) if scale == "full" else (8, 3))


class Small(DARTS):
    defaults = {"channels": 4, "cells": 2}  # noqa: RUF012


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_nesterov_has_no_effect_without_momentum(tmp_path, space):
    with_it, without = (
        search(tmp_path / str(nesterov), space=space, epochs=1, momentum=0.0, nesterov=nesterov)
        for nesterov in (True, False)
    )
    assert [line["train_loss"] for line in with_it.lines] == [line["train_loss"] for line in without.lines]


def test_cutout_has_its_full_probability_in_a_search_of_one_epoch():
    for epochs, wanted in ((1, [0.8]), (3, [0.0, 0.4, 0.8])):
        state = tiny_state(epochs=epochs, cutout_probability=0.8, cutout_schedule="linear")
        found = [state.augmentation(epoch).cutout_probability for epoch in range(1, epochs + 1)]
        assert found == pytest.approx(wanted)


@pytest.mark.parametrize("optimizer", ["oles", "lambda-darts"])
def test_methods_that_compare_gradients_refuse_flooding(tmp_path, optimizer):
    with refuses(nb.InvalidInputError, "can reverse the gradients", options="flooding"):
        search(tmp_path / "run", optimizer=optimizer, flooding=0.5)
    assert not (tmp_path / "run").exists()


def test_mixing_weights_of_an_epoch_that_is_not_recorded_are_refused(tmp_path):
    run = search(tmp_path / "run", epochs=1)
    for epoch in (-1, 2, 1.0):
        with refuses(nb.InvalidInputError, str(epoch), "0 to 1"):
            run.mixing_weights(epoch)


SMALL = {"image_side": 4, "channels": 4, "cells": 3, "batch_size": 8}
"""Searches whose last stage has one pixel per channel."""


@pytest.mark.parametrize(
    ("options", "side"),
    [
        ({"space": "s1", "images_per_half": 9}, 4),
        ({"space": "nb201", "images_per_half": 9}, 4),
        ({"space": "nats-size", "images_per_half": 9, "channels": 64}, 4),
        ({"space": "s1", "images_per_half": 6, "batch_size": 1}, 4),
        ({"space": "s1", "images_per_half": 9, "optimizer": "spos"}, 4),
    ],
)
def test_batches_of_one_image_without_several_pixels_are_refused(options, side):
    values = options.get("batch_size", 8), f"{side} × {side}"
    with refuses(nb.InvalidInputError, *values, options="batch_size images_per_half"):
        tiny_state(**{**SMALL, **options})


@pytest.mark.parametrize(
    ("side", "options", "values"),
    [
        (6, {"space": "nb201", "cells": 3, "channels": 2}, ("twice", "of 4")),
        (5, {"space": "nb201", "cells": 2, "channels": 2}, ("once", "of 2")),
        (6, {"space": "nats-size", "cells": 3, "channels": 64}, ("twice", "of 4")),
    ],
)
def test_images_that_residual_blocks_cannot_halve_are_refused(side, options, values):
    with refuses(nb.InvalidInputError, f"{side} × {side}", *values):
        begin_on_squares(side, options)
    assert begin_on_squares(8, options).images.side == 8


def begin_on_squares(side: int, options: dict) -> SearchState:
    pixels, labels = torch.zeros(40, side, side, 3, dtype=torch.uint8), torch.arange(40) % 2
    images = ImageSet("squares", pixels, labels, torch.arange(40), "0" * 64, classes=2)
    sizes = {"images_per_half": 8, "batch_size": 4, "image_side": side}
    return begin(search_options({"scale": "quick", "device": "cpu", **sizes, **options}), images)


@pytest.mark.parametrize(
    "options", [{"images_per_half": 10}, {"images_per_half": 9, "image_side": 8}, {"images_per_half": 9, "cells": 1}]
)
def test_smaller_batches_with_several_values_per_channel_are_searched(options, tmp_path):
    run = search(tmp_path / "run", **{**SMALL, "space": "s1", "epochs": 1, **options})
    assert len(run.lines) == 2
