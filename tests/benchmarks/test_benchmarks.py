import json
import sys
from pathlib import Path
from types import SimpleNamespace

import optimizer_speed
import pytest
import warm_process

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
TINY = ["--quick", "--channels", "4", "--cells", "1", "--threads", "1", "--spaces", "s1", "--quiet", "inf"]
SCRIPT = (
    "import runpy, sys; sys.argv.pop(0); sys.path.insert(0, {!r}); runpy.run_path(sys.argv[0], run_name='__main__')"
)


def forked(line, **_):
    """Run a script in a separate process with its modules already imported."""
    return warm_process.python(SCRIPT.format(str(BENCHMARKS)), *line[1:])


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    out = tmp_path_factory.mktemp("benchmark") / "optimizer_speed.json"
    line = ["optimizer_speed.py", *TINY, "--optimizers", "gdas", "random-ws", "--out", str(out)]
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizer_speed, "subprocess", SimpleNamespace(run=forked))
        patch.setattr(optimizer_speed, "print", lambda text, **_: said.append(text), raising=False)
        patch.setattr(sys, "argv", line)
        optimizer_speed.main()
    return json.loads(out.read_text()), said[-1]


def test_an_epoch_is_the_sum_of_its_parts(measured):
    gdas, random_ws = measured[0]["optimizers"]
    ours = gdas["sides"]["ours"]
    assert ours["times_per_epoch"] == {
        "search_step": 1250,
        "next_batches": 1250,
        "evaluation_batch": 158,
    }  # with 128 reference images
    expected = sum(times * ours["milliseconds"][action] for action, times in ours["times_per_epoch"].items()) / 1000
    assert ours["seconds_per_epoch"] == pytest.approx(expected, rel=0.05, abs=0.1)
    sampled = random_ws["sides"]["ours"]
    assert sampled["selection_seconds"] > 0
    assert "evaluation_batch" not in sampled["times_per_epoch"]
    parts = sampled["training_seconds_per_epoch"] + sampled["selection_seconds"]
    assert sampled["seconds_per_epoch"] == pytest.approx(parts, abs=0.11)


def test_memory_is_measured_in_a_separate_process(measured):
    for row in measured[0]["optimizers"]:
        assert 50 < row["sides"]["ours"]["peak_memory_MiB"] < 5000


def test_single_paths_are_compared_with_darts(measured):
    [compared] = measured[0]["weight_steps"]
    assert compared["batch_size"] == 16
    assert set(compared["median"]) == set(compared["mean"]) == {"random-ws", "gdas"}


def test_the_table_has_a_row_for_every_measurement(measured):
    rows = [line for line in measured[1].splitlines() if line.startswith("| s1 |")]
    assert [row.split(" | ")[1] for row in rows] == ["gdas", "random-ws"]
