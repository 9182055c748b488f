"""Print the numbers of docs/ranking.md, "Ten seeds at the quick scale" and "… at the medium scale", from rankings.

    nb1shot1 reproduce figure3 --scale quick --only s1 --seeds 0-9 --records docs/records/figure3-s1.tar.xz --out fig3
    python benchmarks/ranking_seeds.py fig3/s1-rankings

The rankings of `reproduce figure3 --scale medium` are printed in the same way.

For each method, this prints means ± standard deviations (n - 1) over the seeds, at the last ranked epoch and with test
errors after the full budget: Spearman's ρ of the one-shot error, of the loss and of the number of parameters; the
partial rank correlation of the loss given the number of parameters; the regret of the architecture with the lowest loss
and the mean regret of the sample; the mean one-shot error; and the split-half reliability of error and loss. Values of
ρ that end in "measured" are over the architectures whose test error is measured. The next line summarises, over all
rankings, how far the ends of the 95 % bootstrap interval of the loss's ρ are from ρ; each resample draws architectures.
The last lines state, for each method and over the measured architectures, by how much ρ of the number of parameters
exceeds the mean of the loss's ρ over the seeds, with a 95 % bootstrap interval over cells.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas
from ranking_study import last, partial, rho
from scipy.stats import rankdata

import nasbench1shot1 as nb
from nasbench1shot1.experiments.correlation.criteria import bootstrap

RESAMPLES = 1000
BELOW, ABOVE = "ρ loss - lower end", "upper end - ρ loss"


def measures(ranking, table):
    """Return the measures of one ranking, in the order of the table in docs/ranking.md."""
    scores = last(ranking)
    archs = [ranking.space[int(number)] for number in scores.numbers]
    answers = table.query(archs)
    true, size = 1 - np.asarray(answers.test_accuracy), np.asarray(answers.trainable_parameters)
    regrets = np.asarray(table.regret(archs))
    cells = np.unique([arch.cell.hash for arch in archs], return_inverse=True)[1]
    known = np.asarray(answers.is_measured("test_accuracy"))
    rng, loss = np.random.default_rng(0), rho(scores.losses, true)
    low, high = bootstrap(scores.losses, true, ["spearman"], rng, RESAMPLES, groups=cells)["spearman"]
    halves = ranking.reliability
    halves = halves[(halves["epoch"] == halves["epoch"].max()) & (halves["images"] == halves["images"].max())]
    return {
        "ρ error": rho(scores.errors, true),
        "ρ loss": loss,
        BELOW: loss - low,
        ABOVE: high - loss,
        "ρ parameters": rho(-size, true),
        "ρ loss given parameters": partial(scores.losses, true, -size),
        "measured architectures": known.sum(),
        "ρ error, measured": rho(scores.errors[known], true[known]),
        "ρ loss, measured": rho(scores.losses[known], true[known]),
        "ρ parameters, measured": rho(-size[known], true[known]),
        "regret of the first by loss [%]": 100 * regrets[np.argmin(scores.losses)],
        "mean regret [%]": 100 * regrets.mean(),
        "one-shot error [%]": 100 * scores.errors.mean(),
        **{f"reliability {name}": float(of["spearman"].iloc[-1]) for name, of in halves.groupby("predictor")},
    }


def lead_of_parameters(rankings, table):
    """Return by how much ρ of the parameters exceeds the mean ρ of the rankings' losses, with its interval.

    Only the architectures with a measured test error count. The rankings must evaluate the same architectures.
    """
    scores = [last(ranking) for ranking in rankings]
    if any(not np.array_equal(of.numbers, scores[0].numbers) for of in scores):
        raise SystemExit("the rankings evaluate different architectures")
    archs = [rankings[0].space[int(number)] for number in scores[0].numbers]
    answers = table.query(archs)
    known = np.flatnonzero(np.asarray(answers.is_measured("test_accuracy")))
    true, size = 1 - np.asarray(answers.test_accuracy)[known], np.asarray(answers.trainable_parameters)[known]
    predictors = np.vstack([-size, *(of.losses[known] for of in scores)])
    cells = np.unique([archs[place].cell.hash for place in known], return_inverse=True)[1]
    of_cell = [np.flatnonzero(cells == cell) for cell in range(cells.max() + 1)]

    def lead(drawn):
        ranks = rankdata(np.vstack([true[drawn], predictors[:, drawn]]), axis=1)
        parameters, *losses = np.corrcoef(ranks)[0, 1:]
        return parameters - np.mean(losses)

    rng = np.random.default_rng(0)
    resamples = (rng.integers(len(of_cell), size=len(of_cell)) for _ in range(RESAMPLES))
    leads = [lead(np.concatenate([of_cell[cell] for cell in drawn])) for drawn in resamples]
    return lead(np.arange(len(known))), *np.quantile(leads, [0.025, 0.975])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the rankings of a space")
    options = parser.parse_args()
    table, rows, by_method = nb.load_table(), {}, {}
    for config in sorted(options.folder.glob("*/seed-*/config.json")):
        ranking = nb.open_run(config.parent)
        if table.id != ranking.config["table_id"]:
            raise SystemExit(f"the rankings used the table {ranking.config['table_id']}: open it with NB1SHOT1_TABLE")
        rows[config.parts[-3], ranking.config["run_seed"]] = measures(ranking, table)
        by_method.setdefault(config.parts[-3], []).append(ranking)
    frame = pandas.DataFrame.from_dict(rows, orient="index").rename_axis(["method", "seed"])
    with pandas.option_context("display.width", 200, "display.max_columns", None):
        found = frame.groupby("method").agg(["mean", "std"])
        print(found.round(4).T.to_string())
        print(frame.groupby("method").size().to_string())
    sides = frame[[BELOW, ABOVE]].to_numpy()
    least, middle, most = np.quantile(sides, [0, 0.5, 1])
    print(f"{sides.size:,} ends of intervals are {least:.2f} to {most:.2f} (median {middle:.2f}) from ρ of the loss")
    for method, rankings in by_method.items():
        value, low, high = lead_of_parameters(rankings, table)
        print(f"{method}, measured: ρ of parameters exceeds ρ of the loss by {value:.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
