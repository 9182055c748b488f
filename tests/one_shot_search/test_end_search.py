"""Methods with a final selection after the search: records, kills, resuming and continuation."""

import json
import shutil
from dataclasses import replace
from io import StringIO
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from ending_methods import MUTANTS, EvolvesAtTheEnd, PerturbsAtTheEnd
from refusals import refuses
from rich.console import Console
from tiny_search import TINY, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.search_steps import SilentReporter
from nasbench1shot1.conformance.tiny_search import are_identical, differences
from nasbench1shot1.ground.errors import RunStoppedError
from nasbench1shot1.one_shot_search import estimate, loop
from nasbench1shot1.one_shot_search.pictures import cells_figure
from nasbench1shot1.one_shot_search.regret_curve import regret_figure
from nasbench1shot1.one_shot_search.writer import SearchWriter
from nasbench1shot1.optimizer import OneShotOptimizer
from nasbench1shot1.runs.checkpoints import load_checkpoint
from nasbench1shot1.supernets.weight_sharing import SharedWeights

METHODS = [EvolvesAtTheEnd, PerturbsAtTheEnd]
SHORT = {"epochs": 2, "images_per_half": 20, "batch_size": 10}
SMALL = {
    EvolvesAtTheEnd: {**SHORT, "seed": 1, "candidates": 4, "candidate_batches": 1, "finalists": 2},
    PerturbsAtTheEnd: {**SHORT, "space": "s3"},
}


def searched(out, method, **options):
    return search(out, optimizer=method, **{**SMALL[method], **options})


def without_hook(method):
    """Disable the `end_search` hook of the method."""
    return patch.object(method, "end_search", OneShotOptimizer.end_search)


class Ended(NamedTuple):
    """A search, the search without the hook, and for each call of the hook the preferred architectures before
    and after, and the error of the latter.
    """

    method: type[OneShotOptimizer]
    run: nb.Run
    plain: nb.Run
    calls: list[tuple[str, str, float]]


@pytest.fixture(scope="module", params=METHODS)
def ended(request, tmp_path_factory) -> Ended:
    method, folder, calls, real = request.param, tmp_path_factory.mktemp("ended"), [], request.param.end_search

    def noted(self, shared):
        before = str(self.architecture())
        real(self, shared)
        error = shared.scores([self.evaluation_mixing()]).errors[0]
        calls.append((before, str(self.architecture()), error))

    with patch.object(method, "end_search", noted):
        run = searched(folder / "run", method)
    with without_hook(method):
        return Ended(method, run, searched(folder / "plain", method), calls)


def test_the_last_record_has_the_final_architecture_and_its_error(ended):
    run, plain = ended.run, ended.plain
    [(before, after, error)] = ended.calls
    assert run.lines[-1]["architecture"] == run.summary["architecture"] == after != before
    assert run.lines[-1]["one_shot_validation_error"] == error
    seconds = {"search_seconds": 0, "simulated_seconds": 0}
    assert [{**line, **seconds} for line in plain.lines[:-1]] == [{**line, **seconds} for line in run.lines[:-1]]
    assert plain.lines[-1]["architecture"] == before
    if ended.method is EvolvesAtTheEnd:  # its Λ encodes the chosen architecture
        one_hot = nb.search_space("s1").one_hot(run.architectures[-1])
        assert all((one_hot[key] == of[-1]).all() for key, of in run.architecture_parameters.items())


def test_a_search_killed_in_its_final_selection_and_resumed_equals_an_uninterrupted_one(ended, tmp_path):
    method, real = ended.method, ended.method.end_search

    def interrupted(self, shared):
        real(self, shared)
        raise KeyboardInterrupt

    with patch.object(method, "end_search", interrupted), pytest.raises(RunStoppedError):
        searched(tmp_path / "run", method)
    assert len(nb.load_run(tmp_path / "run").lines) == 2
    assert differences(ended.run, nb.search(resume=tmp_path / "run", console=Console(quiet=True))) == []


SECONDS = {"search_seconds": 0, "simulated_seconds": 0}


def untimed(run: nb.Run) -> list[dict]:
    return [{**line, **SECONDS} for line in run.lines]


def test_a_finished_search_is_continued_as_if_it_had_not_ended(ended, tmp_path):
    """Its old last line loses the final selection, and its new last line has one."""
    run, plain = ended.run, ended.plain
    assert differences(run, plain)
    folders = [shutil.copytree(of.folder, tmp_path / name) for of, name in ((run, "grown"), (plain, "plain"))]
    grown = nb.search(resume=folders[0], epochs=4, console=Console(quiet=True))
    after, real = [], ended.method.end_search

    def noted(self, shared):
        real(self, shared)
        after.append(str(self.architecture()))

    with patch.object(ended.method, "end_search", noted):
        plain = nb.search(resume=folders[1], epochs=4, console=Console(quiet=True))
    assert untimed(grown) == untimed(plain)
    assert grown.lines[2]["architecture"] != run.lines[2]["architecture"]
    assert [grown.lines[-1]["architecture"]] == [grown.summary["architecture"]] == after
    for key, values in grown.architecture_parameters.items():
        assert (values == plain.architecture_parameters[key]).all()
    ours, theirs = (load_checkpoint(of.folder / "checkpoint.pt") for of in (grown, plain))
    assert are_identical(ours["supernet"], theirs["supernet"])
    assert are_identical(ours["method"], theirs["method"])


@pytest.fixture(scope="module")
def grown(ended, tmp_path_factory) -> nb.Run:
    """The search, continued for a third epoch without an interruption."""
    folder = shutil.copytree(ended.run.folder, tmp_path_factory.mktemp("grown") / "run")
    return nb.search(resume=folder, epochs=3, console=Console(quiet=True))


@pytest.mark.parametrize("moment", ["before", "between", "after"])
def test_a_search_killed_while_its_old_last_line_is_replaced_is_resumed(ended, grown, tmp_path, moment):
    """Before anything is written, between the lines and Λ, or before the first new epoch."""
    folder = shutil.copytree(ended.run.folder, tmp_path / "killed")
    target = {
        "before": (SearchWriter, "replace_last"),
        "between": (SearchWriter, "_write_history"),
        "after": (loop, "train_epoch"),
    }[moment]
    calls, real = [], getattr(*target)

    def killed(*arguments):
        calls.append(1)
        if moment != "between" or len(calls) == 2:  # the first call restores the record
            raise KeyboardInterrupt
        return real(*arguments)

    with patch.object(*target, killed), pytest.raises(RunStoppedError):
        nb.search(resume=folder, epochs=3, console=Console(quiet=True))
    assert differences(grown, nb.search(resume=folder, console=Console(quiet=True))) == []


def test_the_screen_says_that_the_old_last_line_is_replaced(ended, tmp_path):
    folder, screen = shutil.copytree(ended.run.folder, tmp_path / "run"), Console(file=StringIO(), width=300)
    longer = nb.search(resume=folder, epochs=3, console=screen)
    regret = f"(test regret {100 * longer.lines[2]['test_regret']:.2f} %)"
    [said] = [line for line in screen.file.getvalue().splitlines() if "without the final selection" in line]
    assert said.startswith("Epoch 2 is no longer the last one") and regret in said
    again = Console(file=StringIO(), width=300)
    nb.search(resume=folder, console=again)
    assert "without the final selection" not in again.file.getvalue()


def test_a_search_that_returns_its_best_epoch_names_it_everywhere(tmp_path, monkeypatch):
    """In the last line, on the screen and in both captions; in a longer search, only in the new last line."""
    options = {**SHORT, "optimizer": "gaea", "returned_epoch": "best", "space": "s3", "epochs": 3}
    scores = SharedWeights.scores

    def scored(shared, passes, *rows):
        found = scores(shared, passes, *rows)
        return found if rows else replace(found, errors=np.full(len(found.errors), next(errors)))

    errors = iter((0.2, 0.1, 0.3, 0.4))  # of the selection; the one-shot error is measured on given rows
    monkeypatch.setattr(SharedWeights, "scores", scored)
    screen = Console(file=StringIO(), width=300)
    run = nb.search(out=tmp_path / "run", console=screen, **{**TINY, **options})
    assert [line.get("selected_epoch") for line in run.lines] == [None, None, None, 2]
    assert run.lines[3]["architecture"] == run.lines[2]["architecture"] and run.summary["selected_epoch"] == 2
    for values in run.architecture_parameters.values():
        assert (values[3] == values[2]).all()
    shown = screen.file.getvalue()
    assert "selected: the architecture of epoch 2" in shown
    assert f"Final architecture (of epoch 2): '{run.summary['architecture']}'" in shown
    words = "The last architecture is that of epoch 2, which the search selected."
    pictures = regret_figure([run], [run.metrics], nb.load_table()), cells_figure(run)
    assert all(any(words in text.get_text() for text in picture.texts) for picture in pictures)
    several = regret_figure([run, run], [run.metrics, run.metrics], nb.load_table())
    assert any("The last architectures are those of epochs 2," in text.get_text() for text in several.texts)
    grown = nb.search(resume=run.folder, epochs=4, console=Console(quiet=True))
    assert [line.get("selected_epoch") for line in grown.lines] == [None, None, None, None, 2]


def test_resuming_a_finished_search_changes_nothing(ended, tmp_path):
    run = nb.load_run(shutil.copytree(ended.run.folder, tmp_path / "run"))
    lines = (run.folder / "metrics.jsonl").read_bytes()
    with patch.object(ended.method, "end_search", side_effect=AssertionError):
        again = nb.search(resume=run.folder, console=Console(quiet=True))
    assert (run.folder / "metrics.jsonl").read_bytes() == lines
    assert json.dumps(again.summary) == json.dumps(run.summary)


def test_a_run_keeps_its_options_also_where_another_value_would_not_fit(tmp_path):
    """The term needs another rule than GAEA's, but first of all, it would be another run."""
    run = search(tmp_path / "run", optimizer="gaea", epochs=1)
    with refuses(nb.InvalidInputError, "started without term=, not with beta", "keeps its options"):
        nb.search(resume=run.folder, epochs=2, term="beta")


def test_an_early_stopped_search_skips_the_final_selection(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "returned_epoch", lambda eigenvalues: 1 if len(eigenvalues) > 2 else None)
    monkeypatch.setattr(loop, "dominant_eigenvalue", lambda *_: 1.0)
    options = {"epochs": 4, "hessian_eigenvalue": True, "early_stopping": True}
    with patch.object(PerturbsAtTheEnd, "end_search", side_effect=AssertionError):
        run = searched(tmp_path / "run", PerturbsAtTheEnd, **options)
    assert len(run.lines) == 3


def test_the_last_eigenvalue_is_measured_before_the_final_selection(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(loop, "dominant_eigenvalue", lambda state, epoch: seen.append(state.method.final) or 1.0)
    searched(tmp_path / "run", PerturbsAtTheEnd, hessian_eigenvalue=True)
    assert seen == [None] * len(seen) and len(seen) == 2


def test_the_estimate_counts_the_final_selection_once(monkeypatch):
    name = f"{EvolvesAtTheEnd.__module__}:{EvolvesAtTheEnd.__qualname__}"
    state = tiny_state(optimizer=name, **SMALL[EvolvesAtTheEnd])
    monkeypatch.setattr(estimate, "_costs_of", lambda state, epoch, share, *_: estimate._Costs(share, 2.0, 20.0, 0.0))
    monkeypatch.setattr(estimate, "cost_to_score", lambda state, scorings, _: float(sum(a * n for a, n in scorings)))
    epochs = state.config.epochs
    trained = epochs * (2 * len(state.split.weights) + 20) + 20  # with the error before training
    scored = sum(number * images for number, images in state.method.scorings(state.config.batch_size, 20))
    assert estimate.expected_seconds(state, epochs) == trained + (epochs + 1) * scored + (1 + MUTANTS) * 20


@pytest.mark.parametrize(("returned", "measured"), [("last", 1), ("best", 2)])
def test_the_last_epoch_is_measured_twice_only_if_a_selection_changes_it(returned, measured, monkeypatch):
    state, calls = tiny_state(optimizer="gaea", returned_epoch=returned, epochs=1, batch_size=20), []
    real = loop.one_shot_error
    monkeypatch.setattr(loop, "one_shot_error", lambda *given: calls.append(1) or real(*given))
    loop.train_epoch(state, 1, SilentReporter())
    assert (loop.evaluate(state, 1).unended is None) == (measured == 1)
    assert len(calls) == measured


def test_only_methods_with_a_final_selection_have_one():
    few = {"candidates": 3, "candidate_batches": 1, "finalists": 1, "epochs": 1}
    for options, wanted in (
        ({"optimizer": "darts"}, False),
        ({"optimizer": "enas", **few}, False),
        ({"optimizer": "enas", **few, "final_candidates": 4}, True),
        ({"optimizer": "spos", "candidates": 3, "epochs": 1}, True),
    ):
        assert tiny_state(**options).method.has_final_selection is wanted
