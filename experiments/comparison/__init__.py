"""Comparison of runs of any kind: figures, tables for a paper and rank tests (`nb.compare`, `nb1shot1 compare`).

- `entries`: the kinds of runs, each with its repetitions, progress and clock. `opening` opens and checks them.
- `comparing`: from runs to comparisons. `statistics` is the comparison on one task, `tasks` those on several tasks.
- `measures`, `rank_tests`, `overall`: the statistics of methods on one task, of pairs of methods, and over many tasks.
- `drawing` and `overviews`: figures of curves, and of final regrets.
- `sentences`, `paper`, `output`: words for captions, tables and texts for a paper, the screen and the files.
- `accuracies`: searches compared by accuracy on every data set of their table.
"""
