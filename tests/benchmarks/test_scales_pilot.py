"""docs/scales.md compares the pilot study with the demo and with ten recorded searches of DARTS."""

import csv
import json
import tarfile
from statistics import fmean, stdev

import pytest
from demo_numbers import CHECKOUT
from scales_pilot import SETTINGS, TRAVEL

import nasbench1shot1 as nb

PAGE = " ".join((CHECKOUT / "docs" / "scales.md").read_text().split())


def percent(regrets: list[float]) -> list[str]:
    return [f"{100 * regret:.2f}" for regret in regrets]


def test_the_page_gives_the_regrets_of_the_pilot_and_both_learning_rates() -> None:
    runs = json.loads((CHECKOUT / "benchmarks" / "results" / "scales_pilot.json").read_text())["runs"]
    final = [runs[f"s1-quick-darts-{seed}"]["regret"][-1] for seed in range(3)]
    assert f"{percent([sum(final) / 3])[0]} % for DARTS ({', '.join(percent(final[:2]))} and" in PAGE
    assert f"and {percent(final)[2]} % with the seeds 0, 1 and 2" in PAGE
    _, epochs, steps, _ = SETTINGS["quick"]
    demo = nb.load_run(CHECKOUT / "docs" / "demo")[0].config["architecture_learning_rate"]
    assert f"is {TRAVEL / (epochs * steps):.2g} in the pilot study, and {demo} in the demo" in PAGE


def test_the_page_gives_the_correlations_of_the_long_scale_over_the_measured_architectures() -> None:
    runs = json.loads((CHECKOUT / "benchmarks" / "results" / "scales_pilot.json").read_text())["runs"]
    found = [runs[f"s1-real-epochs160-random-ws-{seed}"] for seed in range(3)]
    first, second, third = (f"{run['spearman_error']:.2f}" for run in found)
    assert f"ρ of the errors of Random WS is {first}, {second} and {third} with three seeds" in PAGE
    of_all = [run["spearman_error_all"] for run in found]
    assert f"ρ is {fmean(of_all):.2f} ± {stdev(of_all):.2f} instead of" in PAGE


def test_the_page_gives_the_regrets_of_ten_recorded_searches() -> None:
    with tarfile.open(CHECKOUT / "docs" / "records" / "methods.tar.xz") as records:
        records_of = [records.extractfile(f"s1/darts/seed-{seed}/metrics.jsonl") for seed in range(10)]
        lines = [[json.loads(line) for line in file] for file in records_of if file is not None]
    final = [of[-1]["test_regret"] for of in lines]
    demo = [run.lines[-1]["test_regret"] for run in nb.load_run(CHECKOUT / "docs" / "demo")]
    assert final[:3] == pytest.approx(demo, abs=1e-9)
    with (CHECKOUT / "docs" / "reproduce" / "methods-quick.csv").open() as file:
        [row] = [row for row in csv.DictReader(file) if (row["panel"], row["curve"]) == ("s1", "darts")]
    mean, low, high = percent([float(row[f"final_{name}"]) for name in ("mean", "low", "high")])
    assert percent([sum(final) / 10]) == [mean]
    assert f"The mean of the ten regrets is {mean} % (95 % confidence interval [{low}, {high}])" in PAGE
    assert f"they range from {percent([min(final)])[0]} to {percent([max(final)])[0]} %" in PAGE
