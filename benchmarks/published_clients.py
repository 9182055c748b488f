"""Code written for the published `nasbench` package, run with our drop-in, and the speed of the two side by side.

    python benchmarks/published_clients.py --peer PATH_OF_A_CHECKOUT_OF_google-research/nasbench

Of the checkout, text is read and run in memory with its import line replaced; nothing of it is kept. What it imports
that is not installed here (TensorFlow, absl, graphviz) is stood in for by what little of it is used. The data is a
generated file in the official format: every cell of at most five vertices, the Inception-like cell of the example and
real cells of up to seven vertices, with made-up values at four budgets, three repeats each.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
import types
import unittest
from datetime import date
from pathlib import Path

import numpy as np
from revisions import revision

import nasbench1shot1 as nb
from nasbench1shot1 import api
from nasbench1shot1.api import graph_util, model_spec
from nasbench1shot1.api.nasbench import build_config
from nasbench1shot1.ground.files import PACKAGE_DATA
from nasbench1shot1.nasbench101.tfrecords import frames, model_metrics

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
from official_files import graphs_of, made_up, write_file
from small_official import INCEPTION, all_cells, graph_of

SAMPLE = PACKAGE_DATA / "sources" / "nb101_partial_val.npz"
VERTICES = 5  # the file has all cells of so many vertices, so that the notebook can sample among them


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, type=Path, help="checkout of the published package")
    parser.add_argument("--rounds", type=int, default=15, help="in how many rounds the two take turns")
    parser.add_argument("--specs", type=int, default=1000, help="models asked for in each round")
    parser.add_argument("--out", type=Path, help="a file for the results, beside the screen")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, stand_ins(), quiet_data_folder(folder):
        file = generated(Path(folder) / "generated.tfrecord")
        result = {
            "what": "clients and tests of the published nasbench package, run with nasbench1shot1.api",
            "date": str(date.today()),
            "command": f"benchmarks/published_clients.py --peer PEER --rounds {options.rounds} --specs {options.specs}",
            "peer": revision(options.peer),
            "machine": f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}",
            "published_tests": published_tests(options.peer),
            "example": example(options.peer, file),
            "notebook": notebook(options.peer, file),
            "comparison": comparison(options, file),
        }
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


def generated(path):
    graphs = [graph_of(nb.Cell(*INCEPTION), 2_694_282)]
    graphs += [graph_of(cell, 1_000_000 + i) for i, cell in enumerate(all_cells(VERTICES))]
    known = {graph.hash for graph in graphs}
    graphs += [graph for graph in graphs_of(SAMPLE, slice(0, None, 4)) if graph.hash not in known]
    return write_file(path, made_up(graphs))


# Stand-ins ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def stand_ins():
    """The modules that the published code imports, with the few names that are used of them."""
    tensorflow, absl, flags, app = (types.ModuleType(n) for n in ("tensorflow", "absl", "absl.flags", "absl.app"))
    tensorflow.test = types.SimpleNamespace(TestCase=unittest.TestCase, main=unittest.main)
    tensorflow.python_io = types.SimpleNamespace(tf_record_iterator=lambda path: (row for _, row in frames(Path(path))))
    defined = {}
    flags.FLAGS = types.SimpleNamespace(flags_by_module_dict=lambda: defined)

    def define(name, value, help_text):
        module = sys._getframe(1).f_globals["__name__"]
        defined.setdefault(module, []).append(types.SimpleNamespace(name=name, value=value))

    for kind in ("list", "string", "integer", "float", "bool"):
        setattr(flags, f"DEFINE_{kind}", define)
    app.run = lambda main: main(["example.py"])
    absl.flags, absl.app = flags, app
    evaluate, metrics = (types.ModuleType(f"nasbench.lib.{name}") for name in ("evaluate", "model_metrics_pb2"))
    metrics.ModelMetrics = model_metrics()  # the checkout's own was generated for a protobuf of long ago
    modules = {module.__name__: module for module in (tensorflow, absl, flags, app, evaluate, metrics)}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


@contextlib.contextmanager
def quiet_data_folder(folder):
    """Tables go into a folder of our own."""
    before = os.environ.get("NB1SHOT1_DATA")
    os.environ["NB1SHOT1_DATA"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["NB1SHOT1_DATA"]
        else:
            os.environ["NB1SHOT1_DATA"] = before


def replaced(text, *changes):
    """The text with each (old, new) replaced, each of which must be there."""
    for old, new in changes:
        assert old in text, f"{old!r} is not in the published text"
        text = text.replace(old, new)
    return text


# The published tests, example and notebook ------------------------------------------------------------------------


def published_tests(peer):
    """How many tests of each file ran; a failure ends the benchmark."""
    counts = {}
    for name in ("graph_util", "model_spec"):
        text = (peer / "nasbench" / "tests" / f"{name}_test.py").read_text()
        text = replaced(text, (f"from nasbench.lib import {name}", f"from nasbench1shot1.api import {name}"))
        module = types.ModuleType(f"published_{name}_test")
        exec(compile(text, module.__name__, "exec"), module.__dict__)
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
        outcome = unittest.TextTestRunner(stream=sys.stderr).run(suite)
        assert outcome.wasSuccessful(), f"a published test of {name} fails"
        counts[name] = outcome.testsRun
    return counts


def example(peer, file):
    """What the example prints: the number of lines, and that it shows every training of the Inception-like cell."""
    text = (peer / "example.py").read_text()
    text = replaced(
        text,
        ("from nasbench import api", "from nasbench1shot1 import api"),
        ("'/path/to/nasbench.tfrecord'", repr(str(file))),
    )
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(text, "example.py", "exec"), {"__name__": "__main__"})
    lines = said.getvalue().splitlines()
    trained = sum(line.startswith("Epochs trained") for line in lines)
    assert trained == 12, f"{trained} trainings shown, not 4 budgets of 3 repeats"
    return {"lines": len(lines), "trainings_shown": trained}


def notebook(peer, file):
    """Runs every cell of the notebook that computes something, the searches with a small budget."""
    cells = json.loads((peer / "NASBench.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    load = "\n".join(line for line in code[0].splitlines() if not line.startswith(("%", "!")))
    load = replaced(
        load,
        ("from nasbench import api", "from nasbench1shot1 import api"),
        ("'nasbench_only108.tfrecord'", repr(str(file))),
    )
    names = {"__name__": "notebook"}
    import matplotlib

    matplotlib.use("Agg")
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (the notebook draws from it)
    with contextlib.redirect_stdout(io.StringIO()):
        for source in (load, code[1], code[2], code[3]):
            exec(compile(source, "notebook", "exec"), names)
        names["NUM_VERTICES"], names["OP_SPOTS"] = VERTICES, VERTICES - 2
        budget = 3e5
        for search in ("run_random_search", "run_evolution_search"):
            names[search].__defaults__ = (budget, *names[search].__defaults__[1:])
        for source in code[4:6]:
            exec(compile(source, "notebook", "exec"), names)
        plot = replaced(code[6], ("max_budget=5000000", f"max_budget={int(budget)}"))
        exec(compile(plot, "notebook", "exec"), names)
    runs = {kind: names[f"{kind}_data"] for kind in ("random", "evolution")}
    assert all(len(data) == 10 for data in runs.values())
    return {kind: {"runs": len(data), "models": sum(len(run[0]) - 1 for run in data)} for kind, data in runs.items()}


# Side by side -----------------------------------------------------------------------------------------------------


def comparison(options, file):
    sys.path.insert(0, str(options.peer.resolve()))
    theirs = importlib.import_module("nasbench.api")
    assert importlib.import_module("nasbench.lib.config").build_config() == build_config(), "config differs"
    table = nb.load_table(next(Path(file).parent.glob("tables/*/meta.json")).parent)
    opened = opening(theirs, file, options.rounds)
    with contextlib.redirect_stdout(io.StringIO()):
        published = theirs.NASBench(str(file), seed=1)
    ours = api.NASBench(table, seed=1)
    graphs = [(matrix.tolist(), list(ops)) for matrix, ops in renumbered(published, options.specs)]
    return {
        "file": {"models": len(table), "records": len(table) * 12, "bytes": Path(file).stat().st_size},
        "answers_compared": same_answers(theirs, published, ours, graphs),
        "validity_compared": same_validity(theirs, published, ours),
        "object_becomes_the_same_table": same_table(nb.table_from_nasbench(published), table),
        "hashes_in_the_same_order": list(published.hash_iterator()) == list(ours.hash_iterator()),
        "utilities_compared": same_utilities(),
        "opening": opened,
        "spec_and_query": {
            "lists": turns(options.rounds, both(theirs, published, graphs), both(api, ours, graphs)),
            "arrays": turns(
                options.rounds,
                both(theirs, published, [(np.array(m), ops) for m, ops in graphs]),
                both(api, ours, [(np.array(m), ops) for m, ops in graphs]),
            ),
        },
        "spec_is_valid_and_query": turns(
            options.rounds, both(theirs, published, graphs, True), both(api, ours, graphs, True)
        ),
        "query_of_a_spec_that_is_there": turns(
            options.rounds, queries(theirs, published, graphs), queries(api, ours, graphs)
        ),
        "get_metrics_from_hash": turns(options.rounds, hashes(published), hashes(ours)),
    }


def renumbered(published, n):
    """Graphs of the file, with a dead vertex here and there, so that pruning has something to do."""
    rng = np.random.default_rng(0)
    names = list(published.fixed_statistics)
    large = [name for name in names if len(published.fixed_statistics[name]["module_operations"]) == 7]
    for name in rng.choice(large, n).tolist():
        about = published.fixed_statistics[name]
        yield about["module_adjacency"].astype(int), about["module_operations"]


def same_answers(theirs, published, ours, graphs):
    """The same seed, the same models, budgets and halves: the same dictionaries. Returns how many were compared."""
    asked = [(g, e, half) for g in graphs for e in (4, 12, 36, 108) for half in (False, True)]
    random.seed(7)
    ours = api.NASBench(ours.table, seed=7)
    published.reset_budget_counters()
    for graph, epochs, half in asked:
        one = published.query(theirs.ModelSpec(*graph), epochs, half)
        other = ours.query(api.ModelSpec(*graph), epochs, half)
        assert list(one) == list(other)
        for key, value in one.items():
            assert np.array_equal(value, other[key]), (key, value, other[key])
            assert type(value) is type(other[key]), key
    assert published.get_budget_counters() == ours.get_budget_counters()
    for name in published.hash_iterator():
        (fixed, computed), (again, recomputed) = (one.get_metrics_from_hash(name) for one in (published, ours))
        assert computed == recomputed
        assert np.array_equal(fixed.pop("module_adjacency"), again.pop("module_adjacency"))
        assert fixed == again
    return len(asked)


def same_validity(theirs, published, ours, n=5000):
    """Random specs of five vertices, all of which the file has: valid, or the same exception. Returns how many."""
    rng, valid = np.random.default_rng(1), 0
    for _ in range(n):
        matrix = np.triu(rng.random((VERTICES, VERTICES)) < 0.7, 1).astype(int)
        ops = [
            "input",
            *rng.choice(["maxpool3x3", "conv1x1-bn-relu", "conv7x7"], 3, p=[0.5, 0.45, 0.05]).tolist(),
            "output",
        ]
        one, other = theirs.ModelSpec(matrix, ops), api.ModelSpec(matrix, ops)
        assert published.is_valid(one) == ours.is_valid(other)
        try:
            published.query(one)
            ours.query(other)
            valid += 1
        except theirs.OutOfDomainError:
            try:
                ours.query(other)
                raise AssertionError("answered by ours alone")
            except api.OutOfDomainError as error:
                assert not isinstance(error, KeyError)
    assert 0.3 * n < valid < 0.9 * n
    return n


def same_table(one, other):
    columns = [name for name in other.info()["columns"] if not name.startswith("member_")]
    return all(np.array_equal(one.column(name), other.column(name)) for name in columns)


def same_utilities(n=2000):
    """Random graphs through both packages' utilities; returns how many."""
    theirs_of_graphs, theirs_of_specs = (
        importlib.import_module(f"nasbench.lib.{m}") for m in ("graph_util", "model_spec")
    )
    rng = np.random.default_rng(0)
    for _ in range(n):
        size = int(rng.integers(2, 9))
        matrix, labels = rng.integers(0, 2, (size, size)), rng.integers(0, 4, size).tolist()
        bits, order = int(rng.integers(2**28)), rng.permutation(size).tolist()
        assert graph_util.hash_module(matrix, labels) == theirs_of_graphs.hash_module(matrix, labels)
        for one, other in zip(
            graph_util.permute_graph(matrix, labels, order),
            theirs_of_graphs.permute_graph(matrix, labels, order),
            strict=True,
        ):
            assert np.array_equal(one, other)
        drawn = [
            np.fromfunction(module.gen_is_edge_fn(bits), (size, size), dtype=np.int8)
            for module in (graph_util, theirs_of_graphs)
        ]
        assert np.array_equal(*drawn)
        assert graph_util.is_full_dag(drawn[0]) == theirs_of_graphs.is_full_dag(drawn[0])
        assert graph_util.num_edges(drawn[0]) == theirs_of_graphs.num_edges(drawn[0])
        specs = [module.ModelSpec(drawn[0], labels) for module in (model_spec, theirs_of_specs)]
        assert specs[0].valid_spec == specs[1].valid_spec
        assert np.array_equal(specs[0].matrix, specs[1].matrix)
        assert specs[0].ops == specs[1].ops
        if specs[0].valid_spec:
            assert specs[0].hash_spec([0, 1, 2, 3]) == specs[1].hash_spec([0, 1, 2, 3])
    return n


def both(module, nasbench, graphs, check=False):
    def run():
        for matrix, ops in graphs:
            spec = module.ModelSpec(matrix, ops)
            if not check or nasbench.is_valid(spec):
                nasbench.query(spec)

    return run


def queries(module, nasbench, graphs):
    specs = [module.ModelSpec(matrix, ops) for matrix, ops in graphs]

    def run():
        for spec in specs:
            nasbench.query(spec)

    return run


def hashes(nasbench):
    names = list(nasbench.hash_iterator())[:500]

    def run():
        for name in names:
            nasbench.get_metrics_from_hash(name)

    return run


def opening(theirs, file, rounds):
    """Theirs parses the file, with this package's reader of frames in TensorFlow's place; ours opens the table."""

    def published():
        with contextlib.redirect_stdout(io.StringIO()):
            theirs.NASBench(str(file))

    return turns(max(3, rounds // 5), published, lambda: api.NASBench(str(file)))


def turns(rounds, published, ours):
    """Time both in turns after one warm-up round; return the ratio of the medians, and the ratio of every round."""
    seconds = {"published": [], "ours": []}
    for round_ in range(rounds + 1):
        for name, run in (("published", published), ("ours", ours)):
            started = time.perf_counter()
            run()
            if round_:
                seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    of_each = [theirs / mine for theirs, mine in zip(seconds["published"], seconds["ours"], strict=True)]
    return {
        "ratio": round(medians["published"] / medians["ours"], 1),
        "ratio_lowest": round(min(of_each), 1),
        "ratio_highest": round(max(of_each), 1),
        "median_seconds": {name: round(value, 6) for name, value in medians.items()},
    }


if __name__ == "__main__":
    main()
