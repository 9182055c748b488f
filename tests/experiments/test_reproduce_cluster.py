"""A figure on the workers of a dask cluster."""

import pandas
from local_cluster import dask_workers
from same_search import assert_same_search
from tiny_figures import JOBS, ONLY, TINY, reproduce, shrink
from tiny_search import search

import nasbench1shot1 as nb


def test_a_figure_on_a_cluster_has_the_searches_of_one_machine(tmp_path, monkeypatch, capsys):
    shrink(monkeypatch)
    out = tmp_path / "figure"
    with dask_workers(1) as cluster:
        address = cluster.scheduler_address
        reproduce(out, "--epochs", "1", "--only", ONLY[0], "--seeds", "0", "--scheduler", address)
    said = capsys.readouterr().out
    assert f"Planning on a worker of {address} …" in said
    assert f"1/1  {JOBS[0]}: test regret" in said
    assert len(pandas.read_csv(out / "figure12-darts-weight-decay-1e-4.csv")) == 2
    options = {**TINY, "optimizer": "darts", "space": "s1", "epochs": 1, "seed": 0, "weight_decay": 1e-4}
    assert_same_search(nb.load_run(out / JOBS[0]), search(tmp_path / "alone", **options, device="auto"))
