"""DARTS-PT, SPOS, and searches in phases that are continued with more epochs."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import naive_edges
import numpy as np
import pytest
import torch
from newer_methods import made
from refusals import refuses
from rich.console import Console
from tiny_search import SMALL_SPACE, TINY, generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.tiny_search import differences
from nasbench1shot1.constraint import Constraint, Cost
from nasbench1shot1.images.splits import Split
from nasbench1shot1.one_shot_search import loop
from nasbench1shot1.one_shot_search.loop import training_steps
from nasbench1shot1.optimizer import Mixing
from nasbench1shot1.optimizers.darts_pt import _without
from nasbench1shot1.phases import phase_at

# DARTS-PT -------------------------------------------------------------------------------------------------------------


class Fake:
    """Shared weights whose errors are given by the choice and the entry that a pass lacks."""

    def __init__(self, method: Any, errors: Any) -> None:
        self.method, self.errors, self.asked = method, errors, []

    def scores(self, passes: list[Mixing]) -> Any:
        clean = self.method.evaluation_mixing().weights
        found = []
        for given in passes:
            changed = [
                (number, entry)
                for number, choice in enumerate(self.method.space.choices())
                for entry in range(choice.entries)
                if self.vector(given.weights, choice)[entry] != self.vector(clean, choice)[entry]
            ]
            assert len(changed) == 1  # one entry is zero; the others keep their weights
            number, entry = changed[0]
            assert self.vector(given.weights, self.method.space.choices()[number])[entry] == 0
            found.append(self.errors[number][entry])
        self.asked.append(number)
        values = np.array(found)
        return SimpleNamespace(errors=values, losses=np.zeros_like(values))

    @staticmethod
    def vector(weights: Any, choice: Any) -> torch.Tensor:
        return weights[choice.key] if choice.row is None else weights[choice.key][choice.row]


def fixed_of(method: Any) -> dict[int, tuple[int, ...]]:
    """Return the entries of the choices that are fixed, by the number of the choice."""
    numbers = set(range(len(method.space.choices()))) - set(method.allowed.undecided)
    return {number: method.allowed[number] for number in sorted(numbers)}


def selected(space: str, selection: int, epochs: int, seed: int = 0) -> tuple[Any, Fake, list[int]]:
    """Run the epochs of DARTS-PT's choices with given errors; return how many are fixed after each epoch."""
    method = made("darts-pt", space, seed, selection_epochs=selection)
    rng = np.random.default_rng(0)
    shared = Fake(method, [rng.permutation(choice.entries) / 10 for choice in method.space.choices()])
    fixed = []
    for epoch in range(1, epochs + 1):
        method.begin_epoch(epoch, epochs, generator(epoch))
        method.end_epoch(shared)
        fixed.append(len(fixed_of(method)))
    return method, shared, fixed


def test_six_choices_are_fixed_at_the_published_epochs():
    _, _, fixed = selected("nb201", 25, 30)
    at = [0, *fixed]  # fixed before the k-th epoch of the selection is fixed after the epoch before it
    starts = [epoch - 5 for epoch in range(5, 30) if at[epoch] > at[epoch - 1]]
    assert starts == [0, 5, 10, 15, 20, 24]


@pytest.mark.parametrize(("space", "selection"), [("s1", 3), ("s2", 25), ("s3", 7), ("nb201", 1), ("nb201", 2)])
def test_every_choice_is_fixed_before_the_last_epoch_and_the_worst_loss_wins(space, selection):
    method, shared, fixed = selected(space, selection, selection + 2, seed=4)
    choices = method.space.choices()
    assert fixed[:1] == [0]
    assert fixed[1] >= 1
    assert fixed[-2] == len(choices) == fixed[-1]
    assert sorted(shared.asked) == list(range(len(choices)))
    for number, choice in enumerate(choices):
        worst = sorted(range(choice.entries), key=lambda entry, of=shared.errors[number]: -of[entry])
        assert fixed_of(method)[number] == tuple(sorted(worst[: choice.picks]))
    one_hot = method.space.one_hot(method.architecture())
    for number, choice in enumerate(choices):
        vector = one_hot[choice.key] if choice.row is None else one_hot[choice.key][choice.row]
        assert tuple(np.flatnonzero(vector)) == fixed_of(method)[number]
        weights = Fake.vector(method.evaluation_mixing().weights, choice)
        assert weights.tolist() == pytest.approx(
            [(e in fixed_of(method)[number]) / choice.picks for e in range(len(vector))]
        )
    kinds = [choices[number].key == method.space.operation_key for number in shared.asked]
    assert kinds == sorted(kinds, reverse=True)  # operations first


def test_the_order_of_choices_depends_on_the_seed_and_equal_errors_are_decided_by_the_loss():
    assert len({tuple(made("darts-pt", "nb201", seed)._order) for seed in range(5)}) > 1
    method = made("darts-pt", "nb201")
    tied = SimpleNamespace(errors=np.full(5, 0.5), losses=np.array([1.0, 3.0, 2.0, 0.0, 1.0]))
    method._fix(2, SimpleNamespace(scores=lambda passes: tied))
    assert fixed_of(method) == {2: (1,)}


def test_the_selection_has_a_low_constant_learning_rate():
    state = tiny_state(optimizer="darts-pt", epochs=6, selection_epochs=2, learning_rate=0.025)
    assert [phase_at(state.phases, epoch)[0].name for epoch in (1, 4, 5, 6)] == ["search"] * 2 + ["selection"] * 2
    assert [state.learning_rate(epoch) for epoch in (5, 6)] == pytest.approx([0.0025] * 2)
    assert state.learning_rate(1) == 0.025


PT: dict[str, Any] = {"optimizer": "darts-pt", "selection_epochs": 3, "images_per_half": 20, "batch_size": 10}


def stop_after(run: Any, last: int, **options: Any) -> None:
    class Stop(Exception):
        pass

    def stop(epoch: Any) -> None:
        if epoch.line["epoch"] == last:
            raise Stop

    with pytest.raises(Stop):
        search(run, callbacks=[stop], **options)


def resume(run: Any, **options: Any) -> nb.Run:
    return nb.search(resume=run, console=Console(quiet=True), **options)


def test_a_selection_is_stopped_and_resumed_with_equal_bits(tmp_path):
    whole = search(tmp_path / "whole", **PT)
    stop_after(tmp_path / "stopped", 2, **PT)
    assert differences(whole, resume(tmp_path / "stopped")) == []


@pytest.mark.parametrize("options", [{"relaxation": "gumbel", "draws": 2}, {"relaxation": "sigmoid"}])
def test_the_selection_works_with_relaxations_that_mix_all_candidates(options, tmp_path):
    run = search(tmp_path / "run", **PT, **options, cells=2)
    assert all(np.isfinite(value).all() for value in run.architecture_parameters.values())


def test_the_eigenvalue_of_fixed_choices_is_zero(tmp_path):
    run = search(tmp_path / "run", **PT, hessian_eigenvalue=True)
    assert run.lines[1]["hessian_eigenvalue"] != 0
    assert run.lines[-1]["hessian_eigenvalue"] == 0


# More epochs of searches in phases ------------------------------------------------------------------------------------


def state_of(folder: Any) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("finished", [False, True])
def test_a_selection_that_has_begun_cannot_get_more_epochs(finished, tmp_path):
    run = tmp_path / "run"
    if finished:
        search(run, **PT)
    else:
        stop_after(run, 2, **PT)
    before = state_of(run)
    with refuses(nb.InvalidInputError, "epochs=6", "epoch 2", "selection", "search"):
        resume(run, epochs=6)
    assert state_of(run) == before


def test_a_group_whose_selection_has_begun_cannot_get_more_epochs(tmp_path):
    nb.search_seeds([0], out=tmp_path / "group", console=Console(quiet=True), **{**TINY, **PT})
    before = state_of(tmp_path / "group")
    with refuses(nb.InvalidInputError, "epochs=6", "selection"):
        nb.search_seeds(resume=tmp_path / "group", epochs=6, console=Console(quiet=True))
    assert state_of(tmp_path / "group") == before


def test_a_search_before_its_selection_gets_more_epochs_and_fixes_nothing_too_early(tmp_path):
    stop_after(tmp_path / "run", 1, **PT)  # one choice is already fixed for the selection that would have begun
    run = resume(tmp_path / "run", epochs=6)
    assert [line["epoch"] for line in run.lines] == list(range(7))
    state = tiny_state(**PT)
    state.method.allowed.keep(0, [1])
    state.method.begin_epoch(2, 6, generator(0))
    assert fixed_of(state.method) == {}


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "spos", "candidates": 3, "generations": 2, "population": 4, "crossovers": 1, "mutations": 1},
        {"optimizer": "gaea", "warm_start_epochs": 1},
    ],
)
def test_searches_whose_last_phase_grows_continue(options, tmp_path):
    small = {"epochs": 2, "images_per_half": 20, "batch_size": 10}
    search(tmp_path / "run", **options, **small)
    run = resume(tmp_path / "run", epochs=3)
    assert [line["epoch"] for line in run.lines] == [0, 1, 2, 3]


# SPOS -----------------------------------------------------------------------------------------------------------------


class Scores:
    """Shared weights that rank architectures by a fixed random order, and remember what they scored."""

    def __init__(self, space: Any) -> None:
        self.space, self.rank = space, np.random.default_rng(1).permutation(len(space)) / len(space)
        self.generations: list[list[Any]] = []

    def errors(self, architectures: list[Any]) -> np.ndarray:
        self.generations.append(list(architectures))
        return self.rank[[self.space.index(arch) for arch in architectures]]


def evolved(space: Any, constraint: Constraint | None = None, **options: Any) -> tuple[Any, Scores]:
    method = made("spos", space, **options)
    if constraint is not None:
        method.constrain(constraint)
    method.begin_epoch(1, 1, generator(3))
    shared = Scores(method.space)
    method.end_search(shared)
    return method, shared


def test_a_generation_has_its_size_and_no_architecture_is_scored_twice():
    method, shared = evolved("s2", generations=6, population=20, survivors=5, crossovers=8, mutations=9)
    assert [len(generation) for generation in shared.generations] == [20] * 6
    scored = [arch for generation in shared.generations for arch in generation]
    assert len(set(scored)) == len(scored)
    best = min(scored, key=lambda arch: shared.rank[method.space.index(arch)])
    assert method.architecture() == best
    marked = {key: torch.from_numpy(value) for key, value in method.space.one_hot(best).items()}
    assert all(torch.equal(method.parameters[key], value) for key, value in marked.items())


def test_choices_of_a_crossover_come_from_its_parents_and_mutations_change_a_tenth():
    method = made("spos", "s3")
    rng, space = np.random.default_rng(0), method.space
    parents = [space.sample(rng) for _ in range(2)]
    values = [space.values_of(arch) for arch in parents]
    for _ in range(50):
        child = space.values_of(method._crossover(parents, rng))
        assert all(value in pair for value, pair in zip(child, zip(*values, strict=True), strict=True))
    sizes, changes, trials = space.variables(), 0, 2000
    for _ in range(trials):
        child = space.values_of(method._mutation(parents[:1], rng))
        changes += sum(a != b for a, b in zip(child, values[0], strict=True))
    expected = 0.1 * sum(1 - 1 / size for size in sizes)  # a choice that is drawn again may stay the same
    assert changes / trials == pytest.approx(expected, rel=0.1)
    assert made("spos", "s3", mutation_probability=0.0)._mutation(parents[:1], rng) == parents[0]


def test_evolution_improves_on_random_search():
    """On a smooth problem, later generations are better than the first one."""
    _, shared = evolved("nb201", generations=8, population=20, survivors=4, crossovers=8, mutations=8)
    space = shared.space
    target = space[7].operations
    shared.rank = np.array(
        [sum(a != b for a, b in zip(space[i].operations, target, strict=True)) for i in range(len(space))]
    )
    method = made("spos", "nb201", generations=8, population=20, survivors=4, crossovers=8, mutations=8)
    method.begin_epoch(1, 1, generator(3))
    shared.generations = []
    method.end_search(shared)
    means = [np.mean([shared.rank[space.index(arch)] for arch in generation]) for generation in shared.generations]
    assert means[-1] < means[0] - 1


def test_bounds_hold_for_all_generations_even_if_parents_only_yield_others():
    space = nb.search_space("nb201")
    allowed = set(np.random.default_rng(2).choice(len(space), 300, replace=False).tolist())
    cost = Cost("fake", 0.5, lambda arch: float(space.index(arch) not in allowed), lambda: np.zeros(len(space)))
    _, shared = evolved(
        "nb201", Constraint([cost], "fake ≤ 0.5"), generations=4, population=10, crossovers=4, mutations=4
    )
    scored = [space.index(arch) for generation in shared.generations for arch in generation]
    assert set(scored) <= allowed
    assert [len(generation) for generation in shared.generations] == [10] * 4


def test_a_tiny_space_is_exhausted_and_its_best_architecture_found():
    method, shared = evolved(SMALL_SPACE, generations=20, population=20, crossovers=5, mutations=5)
    counts = Counter(str(arch) for generation in shared.generations for arch in generation)
    assert set(counts.values()) == {1}
    assert len(counts) == len(SMALL_SPACE) == 54
    assert SMALL_SPACE.index(method.architecture()) == int(shared.rank.argmin())


def test_combinations_that_a_space_lacks_are_drawn_again(monkeypatch):
    method, rng = made("spos", "s1"), np.random.default_rng(0)

    def refuse(values: Any) -> None:
        raise nb.InvalidInputError("not in the space")

    monkeypatch.setattr(type(method.space), "from_values", lambda self, values: refuse(values))
    parents = [method.space[5], method.space[9]]
    assert method._crossover(parents, rng) is method._mutation(parents, rng) is None
    assert len(method._generation(parents, {}, rng)) == method.hyperparameters.population


@pytest.mark.parametrize("images", ["weight-half", "all"])
def test_spos_trains_uniform_paths_and_keeps_the_images_of_fitness_out_unless_asked(images):
    state = tiny_state(optimizer="spos", candidates=3, training_images=images)
    half, other = state.split.weights.tolist(), state.split.architecture.tolist()
    assert set(state.rows(1)[0].tolist()) == ({*half, *other} if images == "all" else set(half))
    assert [phase.name for phase in state.phases] == ["training"]
    assert not state.phases[0].moves_parameters
    state.method.begin_epoch(1, 4, generator(0))
    drawn = [state.method.mixing() for _ in range(200)]
    assert all(mixing.weights is None for mixing in drawn)
    assert len({str(mixing.path) for mixing in drawn}) > 150


def test_own_images_of_fitness_are_the_whole_half_if_it_has_fewer():
    options = {"recalibration_batches": 1, "generations": 1, "population": 2}
    state = tiny_state(optimizer="spos", fitness_images=8000, own_images=True, **options)
    half = len(state.split.architecture)
    assert half < 8000
    assert state.method.scorings_at_end(20, half) == [(2, half)]
    shared, scored = state.shared_weights(1), []
    measured = shared.errors
    shared.errors = lambda archs, rows: scored.append(rows) or measured(archs, rows)
    state.method.end_search(shared)
    assert [sorted(rows.tolist()) for rows in scored] == [sorted(state.split.architecture)] * 2


@pytest.mark.parametrize(("half", "images"), [(25_000, 8000), (20_000, 8000), (20_000, 300), (10_000, 7000)])
def test_own_images_of_fitness_are_as_many_for_every_architecture(half, images, monkeypatch):
    state, found = tiny_state(optimizer="spos", fitness_images=images, own_images=True, recalibration_batches=1), []
    shared = state.shared_weights(1)
    shared._split = Split(np.arange(0), np.arange(half), nasbench101_validation_images=0, unknown_images=0)
    monkeypatch.setattr(shared, "errors", lambda archs, rows: found.append(rows) or np.zeros(len(archs)))
    state.method._fitness(shared)([state.method.chosen] * 40)
    assert [len(rows) for rows in found] == [images] * 40
    assert all(len(rows.unique()) == len(rows) for rows in torch.cat(found).split(half))


def test_the_end_of_spos_is_not_in_its_checkpoint(monkeypatch):
    """So a finished search continues as if it had not ended."""
    few = {"candidates": 3, "generations": 2, "population": 4, "crossovers": 1, "mutations": 1}
    state = tiny_state(optimizer="spos", epochs=1, **few)
    list(training_steps(state, 1))
    seen: list[dict[str, Any]] = []
    real = state.method.end_search
    monkeypatch.setattr(
        state.method, "end_search", lambda shared: seen.append(state.method.state_dict()) or real(shared)
    )
    outcome = loop.evaluate(state, 1)
    assert state.method.state_dict() == seen[0]
    assert state.net.space.index(outcome.architecture) >= 0


# The published selection ---------------------------------------------------------------------------------------------


def naive_training_scores(state: Any, mixings: list[Mixing], drawn: torch.Generator) -> list[float]:
    """Errors in training mode with PyTorch's own permutations and batch-norm, on images in float64."""
    half, size, errors = state.split.architecture, state.config.batch_size, []
    for mixing in mixings:
        order, wrong = torch.randperm(len(half), generator=drawn), 0
        for part in order.split(size):
            batch = state.images_of(torch.from_numpy(half)[part], state.augmentation(1), None)
            logits = naive_edges.naive_forward(
                {name: value.double() for name, value in state.net.state_dict().items()},
                batch.images.double(),
                mixing.weights["operations"].double(),
                state.config.cells,
                True,
            )
            wrong += int((logits.argmax(dim=1) != batch.labels).sum())
        errors.append(wrong / len(half))
    return errors


def test_training_mode_normalises_by_each_batch_and_moves_the_running_statistics():
    state = tiny_state(optimizer="darts-pt", space="nb201", selection_epochs=1, selection_mode="training", epochs=3)
    shared = state.shared_weights(1)
    with torch.no_grad():
        mixing = state.method.evaluation_mixing()
    passes = [_without(mixing, state.net.space.choices()[0], entry) for entry in range(5)]
    wanted = naive_training_scores(state, passes, generator(4))
    before = {name: value.clone() for name, value in state.net.state_dict().items()}
    found = shared.scores_in_training(passes, generator(4))
    assert found.errors.tolist() == pytest.approx(wanted, abs=1e-12)
    assert np.isfinite(found.losses).all()
    changed = {name for name, value in state.net.state_dict().items() if not torch.equal(value, before[name])}
    assert changed
    assert all("running" in name or "num_batches" in name for name in changed)


def test_the_published_selection_is_resumed_with_equal_bits_and_drops_momentum_once(tmp_path):
    published = {**PT, "selection_mode": "training", "selection_keeps_momentum": False, "space": "nb201"}
    whole = search(tmp_path / "whole", **published)
    stop_after(tmp_path / "stopped", 2, **published)
    assert differences(whole, resume(tmp_path / "stopped")) == []
    state = tiny_state(**{**PT, "selection_keeps_momentum": False}, epochs=5)
    kept = []
    real = state.method.architecture_step
    list(training_steps(state, 1))

    def count(step: Any) -> None:
        real(step)
        kept.append(len(step.weight_optimizer.state))

    state.method.architecture_step = count
    for epoch in (2, 3, 4):
        list(training_steps(state, epoch))
    assert [bool(number) for number in kept] == [True, True, False, True, True, True]


def test_only_choices_that_are_not_fixed_count_for_the_time():
    method = made("darts-pt", "nb201")
    assert method.scored_mixtures == 30
    method.allowed.keep(2, [1])
    assert method.scored_mixtures == 25
