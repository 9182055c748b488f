"""Figure 3: searches and their rankings as jobs, scored on a table."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from forked_jobs import fork_jobs
from made_records import read_packed_files
from quick_ranking import quick_ranking
from refusals import exits, refuses
from scipy import stats
from tiny_figures import planned, refuse_jobs, run_jobs_here, shrink

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.experiments.claims.catalogue import judged, selected
from nasbench1shot1.experiments.claims.evidence import Records
from nasbench1shot1.experiments.claims.verdicts import UNDECIDED
from nasbench1shot1.experiments.reproduction import figure_jobs
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.ground.files import write_json
from nasbench1shot1.one_shot_search import estimate

ARGUMENTS = ["reproduce", "figure3", "--scale", "quick", "--only", "s1/darts", "--epochs", "2", "--workers", "2"]
STEM = "figure3-s1-darts"


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    shrink(monkeypatch, "figure2")
    rankings = FIGURES["figure3"]
    tiny = {"architectures": "8", "images": "40", "resamples": 3}
    monkeypatch.setitem(FIGURES, "figure3", replace(rankings, quick=replace(rankings.quick, options=tiny)))
    with quick_ranking():
        yield tmp_path / "figure"


def run(out, *more):
    cli.main([*ARGUMENTS, "--out", str(out), *more])


def test_the_figure_end_to_end(tiny, monkeypatch, capsys):
    figure_2 = [argument.replace("figure3", "figure2") for argument in [*ARGUMENTS, "--out", str(tiny)]]
    with monkeypatch.context() as patch:
        fork_jobs(patch)
        run(tiny, "--seeds", "0")  # in a separate process
    run_jobs_here(monkeypatch)
    packed = tiny.parent / "records" / "figure3.tar.xz"
    packed.parent.mkdir()
    run(tiny, "--pack", str(packed))
    frame = pandas.read_csv(tiny / f"{STEM}.csv")
    assert (tiny / f"{STEM}.png").read_bytes().startswith(b"\x89PNG")
    assert list(frame["epoch"].unique()) == [1, 2]
    assert set(zip(frame["budget"], frame["split"], strict=True)) == {
        *((budget, "validation") for budget in (4, 12, 36, 108)),
        (108, "test"),
    }
    rankings = [nb.open_run(tiny / "s1-rankings" / "darts" / f"seed-{seed}") for seed in (0, 1)]
    space, table, losses = nb.search_space("s1"), nb.load_table(), []
    for ranking in rankings:
        scores = ranking.scores(2)
        errors = 1 - table.query([space[int(number)] for number in scores.numbers], epochs=36).validation_accuracy
        losses.append(stats.spearmanr(scores.losses, errors).statistic)
    row = frame.query("epoch == 2 and budget == 36").iloc[0]
    assert row["spearman_loss_mean"] == pytest.approx(sum(losses) / 2)
    assert row["spearman_loss_std"] == pytest.approx(pandas.Series(losses).std())
    assert (row["seeds"], row["n"]) == (2, 8)
    jobs = planned("figure3", tiny, only=["s1/darts"], epochs=2)
    results = figure_jobs.open_figure("figure3", ["s1/darts"]).results(jobs, table, "range")
    figure = results.draw("paper", colors="red", labels="mine")
    assert figure.caption.startswith("Shown: mean and minimum to maximum, 2 seeds.\n")
    (drawn,) = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    at_end = frame.query("epoch == 2 and budget == 108 and split == 'test'").iloc[0]
    assert drawn.get_ydata()[-1] == pytest.approx(at_end["spearman_error_mean"]) and drawn.get_color() == "red"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mine"]
    assert row["spearman_loss_low"] == pytest.approx(min(losses)) and row["spearman_loss_high"] == pytest.approx(
        max(losses)
    )
    with Records([tiny]) as records:
        (claim,) = judged(selected(["1shot1-figure3"]), records)
    with Records([packed.parent]) as records:
        assert judged(selected(["1shot1-figure3"]), records)[0].rows == claim.rows
    (told,) = (row for row in claim.rows if row.value is not None)
    assert (told.part, told.n, told.verdict, told.source) == ("s1, DARTS", "2 seeds", UNDECIDED, "predicted")
    assert "8 architectures" in told.setting and told.published == "-0.25 to 0.3"
    means = frame.query("budget == 108 and split == 'test'")["spearman_error_mean"]
    assert told.value is not None and told.value.value == pytest.approx(max(means, key=lambda mean: abs(mean - 0.025)))
    draw_from_records(packed, tiny)
    printed = capsys.readouterr().out
    work = "2 searches of 2 epochs and 2 rankings of 2 epochs"
    assert f"{work}; 2 are finished\n4 epochs to go" in printed

    run(tiny, "--dry-run")  # all is finished
    assert f"{work}; 4 are finished\n" in capsys.readouterr().out

    run(tiny)  # all is finished
    assert f"{work}; 4 are finished" in capsys.readouterr().out
    before = (tiny / f"{STEM}.csv").read_bytes()
    workers = figure_2.index("--workers")
    cli.main([*figure_2[:workers], *figure_2[workers + 2 :], "--draw-only"])
    assert len(pandas.read_csv(tiny / "figure2-s1-darts.csv")) == 3  # epochs
    shutil.rmtree(tiny / "s1-rankings" / "darts" / "seed-0")  # a search without its ranking
    run(tiny)
    printed = capsys.readouterr().out
    assert "3 are finished\n2 epochs to go" in printed  # both epochs are ranked; the search is finished
    assert (tiny / f"{STEM}.csv").read_bytes() == before
    with exits(capsys, "--precision float32", "bfloat16"):
        run(tiny, "--precision", "bfloat16")
    config = tiny / "s1" / "darts" / "seed-0" / "config.json"
    config.write_text(config.read_text().replace('"keep_weights_every": 1', '"keep_weights_every": 0'))
    with exits(capsys, "--keep-weights-every 0", "needs 1"):
        run(tiny)
    cli.main(figure_2)  # needs no weights


def draw_from_records(packed, finished):
    """Records of rankings lack what can be computed from the scores, and give the same figure and the same records."""
    out, again = packed.parent.with_name("copied"), packed.with_name("again.tar.xz")
    names = {Path(name).name for name in read_packed_files(packed) if "-rankings/" in name}
    texts = {"config.json", "environment.json", "metrics.jsonl", "reliability.csv", "summary.json"}
    assert names == {*texts, "epoch-001.npz", "epoch-002.npz"}
    with pytest.MonkeyPatch.context() as patch:
        refuse_jobs(patch)
        run(out, "--records", str(packed), "--pack", str(again))
        assert again.read_bytes() == packed.read_bytes()
        for suffix in ("png", "csv", "md"):
            assert (out / f"{STEM}.{suffix}").read_bytes() == (finished / f"{STEM}.{suffix}").read_bytes()
        again.unlink()

        path = out / "s1-rankings" / "darts" / "seed-1" / "summary.json"
        summary = json.loads(path.read_text())
        summary["epochs"]["2"]["spearman_error"]["value"] += 0.01
        write_json(path, summary)
        changed = packed.parent.with_name("changed") / "figure3.tar.xz"
        changed.parent.mkdir()
        with pytest.raises(SystemExit):
            run(out, "--pack", str(changed))
    for folder, named in ((out, path), (changed.parent, changed)):
        with Records([folder]) as records, refuses(nb.DamagedFileError, named, "scores"):
            judged(selected(["1shot1-figure3"]), records)


def test_a_dry_run_lists_searches_and_rankings(tiny, capsys, monkeypatch):
    for name in ("seconds_per_epoch", "seconds_to_score"):  # the measured times depend on the load
        monkeypatch.setattr(estimate, name, lambda *_: 1.0)
    run(tiny, "--dry-run")
    printed = capsys.readouterr().out
    assert "2 searches of 2 epochs and 2 rankings of 2 epochs" in printed
    rows = [line.split() for line in printed.splitlines() if line.startswith("s1/darts")]
    assert [row[1:4] for row in rows[:2]] == [["search", "2", "8"], ["ranking", "2", "–"]]
    assert "this will take less than a minute" in printed
    assert not tiny.exists()


def test_at_the_full_scale_all_architectures_are_ranked_and_enas_draws(tmp_path):
    found = planned("figure3", tmp_path, scale="full", images="cifar10-sample", seeds=[0])
    searches, rankings = found[:15], found[15:]
    assert len(rankings) == 3 * 5
    for search, job in zip(searches, rankings, strict=True):
        assert job.options["architectures"] == ("controller" if job.curve == "enas" else "all")
        assert (job.options["epochs"], search.options["keep_weights_every"], search.units) == ("every:10", 10, 50)
        assert job.search == search.options and job.options["run"] == str(search.folder)
        assert (search.stage, job.stage) == (0, 1)
        name = f"{job.curve}/seed-0"
        assert (job.units, job.units_done()) == (5, 0)
        assert (search.name, job.name) == (f"{search.panel}/{name}", f"{job.panel}-rankings/{name}")


def test_too_few_images_are_reported_before_any_search(tmp_path, capsys, monkeypatch):
    rankings = FIGURES["figure3"]
    monkeypatch.setitem(FIGURES, "figure3", replace(rankings, full=replace(rankings.full, options={"images": "2000"})))
    out = tmp_path / "figure"
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "figure3", "--images", "cifar10-sample", "--epochs", "1", "--out", str(out)])
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert re.search(
        r"the rankings need 2,000 images, but the architecture half of --images cifar10-sample has 1,750: give a",
        told.err,
    )
    assert not out.exists()


def test_another_table_or_location_keeps_the_finished_figure(tiny, monkeypatch, capsys):
    run_jobs_here(monkeypatch)
    once = ("--seeds", "0", "--device", "auto", "--table", "embedded")
    run(tiny, *once)
    run(tiny, *once)  # "auto" was recorded as "cpu"
    run(tiny, "--seeds", "0", "--table", "nb101-sample", "--dry-run")  # finished rankings are rescored
    assert capsys.readouterr().out.count("2 are finished") == 2
    moved = tiny.rename(tiny.with_name("moved"))
    (moved / f"{STEM}.png").unlink()
    run(moved, "--seeds", "0")
    assert (moved / f"{STEM}.png").read_bytes().startswith(b"\x89PNG")


def test_a_ranking_uses_no_more_images_than_its_search(tmp_path):
    options = {"images": "cifar10-sample", "images_per_half": 120}
    *_, job = planned("figure3", tmp_path, seeds=[0], **options)
    assert job.options["images"] == "120"
