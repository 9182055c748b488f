"""Failed or stopped rankings, and changed surroundings: no results are lost or mixed."""

import io
import shutil

import numpy as np
import pytest
from matplotlib.figure import Figure
from quick_ranking import quick_ranking
from refusals import missing, refuses
from rich.console import Console
from tiny_search import search

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.experiments.correlation import evaluation, expectation

RANKING = {"architectures": 12, "images": 40, "resamples": 5, "threads": 1, "device": "cpu", "budgets": 108}


@pytest.fixture(autouse=True)
def quick():
    with quick_ranking():
        yield


def correlate(run, out=None, **options):
    return nb.correlate(run, out=out, console=Console(quiet=True), **{**RANKING, **options})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return search(tmp_path_factory.mktemp("search") / "run", epochs=2, keep_weights_every=1)


def fail_at(monkeypatch, call, error):
    """Evaluate chunks of 5, and fail at one of them."""
    monkeypatch.setattr(evaluation, "CHUNK", 5)
    real, calls = evaluation.scores_of, []

    def scores_of(*given):
        calls.append(0)
        if len(calls) == call:
            raise error
        return real(*given)

    monkeypatch.setattr(evaluation, "scores_of", scores_of)
    return calls


def test_a_ranking_that_fails_in_its_first_epoch_keeps_finished_chunks(run, tmp_path, monkeypatch):
    calls = fail_at(monkeypatch, 3, nb.UserError("the disk is full"))
    with pytest.raises(nb.UserError, match="full"):
        correlate(run, tmp_path / "ranking", epochs=1)
    assert len(calls) == 3
    correlate(run, tmp_path / "ranking", epochs=1)
    assert len(calls) == 4  # the last of three chunks is repeated
    whole = correlate(run, tmp_path / "whole", epochs=1)
    for name in ("epoch-001.npz", "correlations.csv"):
        assert (tmp_path / "ranking" / name).read_bytes() == (whole.folder / name).read_bytes()


def test_an_unfinished_ranking_is_reported_and_drawn_up_to_its_last_record(run, tmp_path, monkeypatch, capsys):
    fail_at(monkeypatch, 4, KeyboardInterrupt())  # the first epoch has three chunks
    with pytest.raises(KeyboardInterrupt):
        correlate(run, tmp_path / "ranking", epochs=(1, 2))
    cli.main(["report", str(tmp_path / "ranking"), "--out", str(tmp_path / "report")])
    assert not missing(capsys.readouterr().out, "1 of 2")
    axes, given = nb.draw_ranking(tmp_path / "ranking"), Figure().add_subplot()
    assert axes.get_xlim() == (axes.get_xticks()[0] - 1, axes.get_xticks()[0] + 1), "a single epoch"
    assert [line.get_xdata()[0] for line in axes.get_lines()[:-1]] == [1]  # one budget; the last line is at ρ = 0
    assert nb.draw_ranking(tmp_path / "ranking", given, epoch=1) is given
    with refuses(nb.InvalidInputError, 2, 1):
        nb.draw_ranking(tmp_path / "ranking", epoch=2)
    whole = correlate(run, tmp_path / "ranking", epochs=(1, 2))
    (line,) = whole.plot().get_lines()[:-1]
    rho = whole.correlations.query("criterion == 'spearman_error' and scope == 'all' and split == 'test'")
    rho = rho.drop_duplicates("epoch")  # keeps the first row, which is about all architectures
    assert line.get_xdata().tolist() == [1, 2] and line.get_ydata() == pytest.approx(rho["value"].to_numpy())
    drawn = Figure().add_subplot()
    assert whole.plot(ax=drawn, epoch=1) is drawn
    assert drawn.get_title() == given.get_title() != ""
    drawn.figure.draw_without_rendering()
    assert drawn.get_legend().get_window_extent().y1 < drawn.xaxis.label.get_window_extent().y0, "below, hides nothing"
    assert np.array_equal(drawn.lines[0].get_xydata(), given.lines[0].get_xydata())
    paper = nb.draw_ranking(whole, style="paper", colors="red", labels="all")
    assert (paper.figure.get_figwidth(), paper.lines[0].get_color(), paper.lines[0].get_label()) == (3.25, "red", "all")
    at_epoch = nb.draw_ranking(whole, epoch=1, mark=("inception-like-cell", "resnet-like-cell")).figure
    for figure, title in ((paper.figure, "Rank correlation by search epoch: "), (at_epoch, "")):
        assert figure.title.startswith(f"{title}{run.config['optimizer']} on s1, seed {run.config['seed']}; n = ")
        assert f"table {nb.load_table().id}" in figure.caption and "images of the architecture half" in figure.caption
    assert "95 % bootstrap intervals" in axes.figure.caption and axes.figure.title == paper.figure.title
    assert "Not evaluated, so not marked: Inception-like cell" in at_epoch.caption
    assert "nats" in nb.draw_ranking(whole, epoch=2, predictor="loss").get_xlabel()
    for wrong, values in (
        ({"predictor": "x"}, "predictor 'x'"),
        ({"predictor": ["loss"]}, "predictor loss"),
        ({"epoch": 1.0}, "epoch 1.0"),
        ({"ax": 3}, "ax"),
        ({"epoch": "last"}, "epoch last"),
    ):
        with refuses(nb.InvalidInputError, *values.split()):
            nb.draw_ranking(whole, **wrong)
    with refuses(nb.InvalidInputError, run.folder):
        nb.draw_ranking(run)


def test_a_table_with_a_missing_architecture_is_refused_before_evaluating(run, tmp_path, monkeypatch):
    calls = fail_at(monkeypatch, 1, AssertionError("evaluated"))
    with refuses(nb.OutOfDomainError, "nb101-sample-v1-cbaee20"):
        correlate(run, tmp_path / "ranking", table="nb101-sample")
    assert not calls
    assert not (tmp_path / "ranking").exists()


def some_architectures(path, seed):
    space, rng = nb.search_space("s1"), np.random.default_rng(seed)
    path.write_text("\n".join(str(space.sample(rng)) for _ in range(8)) + "\n")
    return path


def test_a_list_of_architectures_is_found_from_any_folder_and_must_not_change(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some_architectures(tmp_path / "listed.txt", 0)
    calls = fail_at(monkeypatch, 3, KeyboardInterrupt())  # in the second epoch
    with pytest.raises(KeyboardInterrupt):
        correlate(run, "ranking", architectures="listed.txt")
    some_architectures(tmp_path / "listed.txt", 1)
    with refuses(nb.InvalidInputError, "architectures_sha256"):
        nb.correlate(resume="ranking", console=Console(quiet=True))
    some_architectures(tmp_path / "listed.txt", 0)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ranking = nb.correlate(resume=tmp_path / "ranking", console=Console(quiet=True))
    assert np.array_equal(ranking.scores(1).numbers, ranking.scores(2).numbers)
    assert len(calls) == 5  # 8 architectures are two chunks; one was evaluated again


def test_auto_takes_more_images_if_the_first_rank_by_chance(run, tmp_path, monkeypatch):
    real, seen = expectation.images_needed, []

    def images_needed(wrong, precision, rng):
        seen.append(wrong.shape[1])
        if len(seen) == 1:
            raise nb.InvalidInputError("they agree no better than by chance")
        return real(wrong, precision, rng)

    monkeypatch.setattr(expectation, "PILOT_IMAGES", 20)
    monkeypatch.setattr(expectation, "images_needed", images_needed)
    correlate(run, tmp_path / "ranking", images="auto:0.01", epochs=2)
    assert seen == [20, 40]


def test_reliability_counts_the_images_of_unequal_blocks(run, tmp_path, monkeypatch):
    monkeypatch.setattr("nasbench1shot1.experiments.correlation.state.BLOCKS", 16)
    ranking = correlate(run, tmp_path / "ranking", epochs=2)  # 40 images in 16 blocks
    assert set(ranking.reliability["images"]) == {20}


def test_newer_epochs_of_an_extended_search_are_reported(tmp_path):
    """A finished ranking of all epochs keeps its epochs and reports the number of newer ones."""
    searched = search(tmp_path / "run", epochs=1, keep_weights_every=1)
    ranking = correlate(searched)
    nb.search(resume=searched.folder, epochs=3, console=Console(quiet=True))
    printed = Console(file=io.StringIO(), width=200)
    nb.correlate(resume=ranking.folder, console=printed)
    notice = "Not ranked here: 2 newer epochs with saved weights. To rank all epochs, choose another folder.\n"
    assert notice in printed.file.getvalue()
    assert nb.open_run(ranking.folder).config["evaluated_epochs"] == [1]
    other = Console(file=io.StringIO(), width=200)
    again = nb.correlate(nb.load_run(searched.folder), out=tmp_path / "again", console=other, **RANKING)
    assert again.config["evaluated_epochs"] == [1, 2, 3]
    assert "newer epochs of" not in other.file.getvalue()


def test_a_ranking_stays_with_its_moved_or_copied_run(run, tmp_path, monkeypatch):
    copy = nb.load_run(shutil.copytree(run.folder, tmp_path / "run"))
    calls = fail_at(monkeypatch, 3, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        correlate(copy, epochs=1)
    moved = nb.load_run(copy.folder.rename(tmp_path / "moved"))
    ranking = correlate(moved, epochs=1)
    assert ranking.folder == moved.folder / "ranking"
    assert len(calls) == 4
    copied = nb.load_run(shutil.copytree(moved.folder, tmp_path / "copied"))
    assert correlate(copied, epochs=1).summary == {**ranking.summary, "run": str(copied.folder)}
    assert len(calls) == 4
