"""Wrong types in public calls give a sentence that names the argument or value, and nothing is written."""

import numpy as np
import pytest
import torch

import nasbench1shot1 as nb
from nasbench1shot1.registry import black_box_optimizer, optimizer

RNG = r"^rng .*numpy\.random\.default_rng\(0\).*\b0$"
GENERATOR = r"^generator .*torch\.Generator\(\)\.manual_seed\(0\).*\b0$"


def draw(space, name):
    """Give a seed to a method of a space that needs a generator."""
    arguments = {"mutate_each": (space[0], 0.5), "sample": (), "sample_distinct": ()}.get(name, (space[0],))
    getattr(space, name)(*arguments, 0)


def few_images():
    """An image set of four images of 8 × 8 pixels."""
    rows = torch.arange(4)
    return nb.ImageSet("few", torch.zeros(4, 8, 8, 3, dtype=torch.uint8), rows, rows, "0", dataset="cifar10")


def batch(rows, size=2):
    return next(nb.image_batches(few_images(), rows, size, torch.Generator()))


MATRIX = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
SPACE_WANTED = r"^space .*nb\.SearchSpace.*\b3$"
TABLE_WANTED = r"^table .*nb\.Table.*\b3$"
CALLS = {
    "search: optimizer": (lambda out: nb.search(3, out=out), "unknown optimizer '3'"),
    "search: space": (lambda out: nb.search(space=3, out=out), SPACE_WANTED),
    "search: spaces": (lambda out: nb.search(space=["s1"], out=out), r"^space .*nb\.SearchSpace.*\['s1'\]$"),
    "search: table": (lambda out: nb.search(table=3, out=out), TABLE_WANTED),
    "search: images": (lambda out: nb.search(images=3, out=out), r"^images .*\b3$"),
    "search: epochs": (lambda out: nb.search(epochs="ten", out=out), "^epochs .*'ten'$"),
    "search: out": (lambda out: nb.search(out=3), "^out=3 "),
    "search: resume": (lambda out: nb.search(resume=3), "^resume=3 "),
    "search: callbacks": (lambda out: nb.search(callbacks=3, out=out), "^callbacks "),
    "seeds": (lambda out: nb.search_seeds(3, out=out), r"^seeds .*\b3$"),
    "seeds: text": (lambda out: nb.search_seeds("0-5", out=out), "^seeds .*'0-5'$"),
    "seeds: workers": (lambda out: nb.search_seeds([0], workers="2"), "^workers .*'2'$"),
    "search_space": (lambda out: nb.search_space(3), "unknown search space '3'"),
    "load_table": (lambda out: nb.load_table(3), r"\b3\b"),
    "query": (lambda out: nb.load_table().query(3.5), r"^3\.5 "),
    "query: text": (lambda out: nb.load_table().query("nope"), r"such as 's1:"),
    "query: several": (lambda out: nb.load_table().query([None]), "^None "),
    "query: epochs": (lambda out: nb.load_table().query(nb.search_space("s1")[0], epochs="x"), "^epochs .*'x'"),
    "regret": (lambda out: nb.load_table().regret(3.5), r"^3\.5 "),
    "best": (lambda out: nb.load_table().best(3), "unknown reference '3'"),
    "best: within": (lambda out: nb.load_table().best("s1", within=3), r'^within="flops=1e8" .*\b3\b'),
    "score: table": (lambda out: nb.score(nb.search_space("s1")[0], "embedded"), r"^'embedded' .*nb\.load_table"),
    "network": (lambda out: nb.load_table().network([1, 2]), r"^\[1, 2\] "),
    "network: none": (lambda out: nb.load_table().network([]), r"^\[\] "),
    **{
        f"from_configuration: {name}, {given!r}": (
            lambda out, name=name, given=given: nb.search_space(name).from_configuration(given),
            rf"^{given!r} is not a configuration",
        )
        for name in ("s1", "nb101", "nb201", "nats-size")
        for given in ("abc", None)
    },
    **{
        f"from_configuration: {name}": (
            lambda out, name=name: nb.search_space("nb101-5v").encoding(name).from_configuration(3),
            "^3 is not a configuration",
        )
        for name in ("edge-index", "continuous")
    },
    "parse": (lambda out: nb.Architecture.parse(None), "'None' is not an architecture"),
    "Cell: ops": (lambda out: nb.Cell(MATRIX, 3), "3 is not a list of labels"),
    "Cell: matrix": (lambda out: nb.Cell(None, ["input", "output"]), "the adjacency matrix"),
    "Supernet: space": (lambda out: nb.Supernet("s1", 16, 9), "'s1' is a name: give nb.search_space"),
    "Supernet: channels": (lambda out: nb.Supernet(nb.search_space("s1"), "x", 9), "^channels .*'x'$"),
    "Supernet: preset": (lambda out: nb.Supernet(nb.search_space("s1"), 2, 3, 3), "unknown preset '3'"),
    "Supernet: presets": (lambda out: nb.Supernet(nb.search_space("s1"), 2, 3, ["original"]), r"unknown preset '\['"),
    "compare": (lambda out: nb.compare("x"), "there is no folder 'x'"),
    "compare: a number": (lambda out: nb.compare(3), "3 is not a run"),
    "correlate": (lambda out: nb.correlate(3), r"\b3 "),
    "tune": (lambda out: nb.tune(3, out=out), r"^optimizer .*\b3$"),
    "tune: iterations": (lambda out: nb.tune("gdas", iterations="x", out=out), "^iterations .*'x'$"),
    "black_box": (lambda out: nb.black_box(3, out=out), "unknown black-box optimizer '3'"),
    "black_box: space": (lambda out: nb.black_box(space=3, out=out), "unknown search space '3'"),
    "black_box: workers": (lambda out: nb.black_box(workers="x", out=out), "^workers .*'x'$"),
    "load_run": (lambda out: nb.load_run(3), "^folder 3 "),
    "open_run": (lambda out: nb.open_run(None), "^folder None "),
    "draw_cell": (lambda out: nb.draw_cell(3), "3 cannot be drawn"),
    "train_cell": (lambda out: nb.train_cell(3, out=out), "3 is not a cell"),
    "index": (lambda out: nb.search_space("s1").index("x"), "'x' is not an Architecture"),
    "positional: search": (
        lambda out: nb.search("darts", "s1"),
        r"^nb\.search .*`nb\.search\(.darts., space=.s1",
    ),
    "positional: search_seeds": (lambda out: nb.search_seeds([0], "darts"), r"`nb\.search_seeds\("),
    "positional: tune": (lambda out: nb.tune("darts", "s1"), r"`nb\.tune\("),
    "positional: black_box": (lambda out: nb.black_box("random", "s1"), r"`nb\.black_box\("),
    "positional: correlate": (lambda out: nb.correlate("run", 100), r"`nb\.correlate\("),
    "positional: train_cell": (lambda out: nb.train_cell("arch", 108), r"`nb\.train_cell\("),
    "rng: split_images": (lambda out: nb.split_images(nb.load_images("cifar10-sample"), "20k/20k", 0), RNG),
    "rng: query": (lambda out: nb.load_table().query(nb.search_space("s1")[0], run="random", rng=0), RNG),
    **{
        f"rng: {name}, {space}": (lambda out, name=name, space=space: draw(nb.search_space(space), name), RNG)
        for space in ("s1", "nb101", "nb201")
        for name in ("sample", "sample_distinct", "mutate", "published_mutate", "mutate_each")
    },
    "rng: black-box optimizer": (
        lambda out: black_box_optimizer("random")(nb.search_space("s1"), None, 108, (108,), 0),
        RNG,
    ),
    "generator: image_batches": (
        lambda out: next(nb.image_batches(nb.load_images("cifar10-sample"), np.arange(4), 2, 0)),
        GENERATOR,
    ),
    "downsample": (lambda out: few_images().downsample(4.0), r"^side .*\b4\.0"),
    "downsample: text": (lambda out: few_images().downsample("4"), "^side .*'4'"),
    "split_images: images": (
        lambda out: nb.split_images("cifar10-sample", "20k/20k", np.random.default_rng(0)),
        r"^images .*nb\.load_images.*'cifar10-sample'$",
    ),
    **{
        f"split_images: {number!r}": (
            lambda out, number=number: nb.split_images(few_images(), "20k/20k", np.random.default_rng(0), number),
            f"^images_per_half .*{number!r}",
        )
        for number in (320.0, "320", True)
    },
    "image_batches: images": (
        lambda out: next(nb.image_batches("cifar10-sample", [0], 1, torch.Generator())),
        r"^images .*nb\.load_images",
    ),
    "image_batches: size": (lambda out: batch([0, 1], 1.5), r"^batch_size .*1\.5"),
    "image_batches: size, text": (lambda out: batch([0, 1], "8"), "^batch_size .*'8'"),
    "image_batches: mask": (lambda out: batch(np.ones(4, dtype=bool)), r"^rows .*bool.*\(4,\)$"),
    "image_batches: floats": (lambda out: batch(np.arange(2.0)), r"^rows .*float64.*\(2,\)$"),
    "image_batches: text": (lambda out: batch("01"), "^rows .*'01'$"),
    "image_batches: a number": (lambda out: batch(1), r"^rows .*int64.*\(\)$"),
    "image_batches: a missing row": (lambda out: batch([0, 4]), r"'few' .*\b4\b.*\b0 to 3$"),
    "image_batches: a negative row": (lambda out: batch([0, -1]), r"'few' .*-1\b.*\b0 to 3$"),
    "Augmentation: images": (lambda out: nb.Augmentation.of("cifar10-sample"), r"^images .*nb\.load_images"),
    "Augmentation: crop": (lambda out: nb.Augmentation(crop=1.5), r"^crop .*1\.5$"),
    "Augmentation: text": (lambda out: nb.Augmentation(crop="4"), "^crop .*'4'$"),
    "Augmentation: flip": (lambda out: nb.Augmentation(flip="0.5"), r"^flip .*'0\.5'$"),
    "generator: Augmentation": (lambda out: nb.Augmentation()(torch.zeros(1, 8, 8, 3), 0), GENERATOR),
    "generator: Supernet": (lambda out: nb.Supernet(nb.search_space("s1"), generator=0), GENERATOR),
    "generator: build_network": (lambda out: nb.build_network(nb.search_space("s1")[0], generator=0), GENERATOR),
    "generator: optimizer": (lambda out: optimizer("darts")(nb.search_space("s1"), None, 0, "cpu"), GENERATOR),
    "mutate": (lambda out: nb.search_space("s1").mutate(3, np.random.default_rng(0)), "3 is not an Architecture"),
}


@pytest.mark.parametrize(("call", "sentence"), CALLS.values(), ids=CALLS.keys())
def test_a_wrong_type_is_reported_in_one_sentence(tmp_path, monkeypatch, call, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nb.UserError, match=sentence):
        call(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
