"""Searches and scores on images of other sizes and classes than CIFAR-10's."""

from io import StringIO
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from refusals import refuses
from rich.console import Console
from tiny_search import SMALL_SPACE, TINY, search

import nasbench1shot1 as nb
from nasbench1shot1.display.colours import DATA_SETS, METHODS
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.rescoring import rescore_black_box
from nasbench1shot1.one_shot_search.beginning import begin
from nasbench1shot1.one_shot_search.memory import check_fits, supernet_size
from nasbench1shot1.one_shot_search.options import dataset_note, search_options
from nasbench1shot1.one_shot_search.regret_curve import regret_figure
from nasbench1shot1.runs import machine
from nasbench1shot1.supernets.presets import PRESETS


def write_images(path: Path, classes: int, side: int, **arrays: object) -> Path:
    """Three images per class; the last two are test images."""
    labels = np.arange(3 * classes) % classes
    images = np.random.default_rng(0).integers(0, 256, (len(labels), side, side, 3), np.uint8)
    np.savez(path, images=images, labels=labels, is_test=np.arange(len(labels)) >= classes, **arrays)
    return path


def test_a_search_on_imagenet16_takes_its_architecture_half_from_the_test_images(tmp_path):
    images = write_images(tmp_path / "mine.npz", 120, 16, dataset="ImageNet16-120")
    options = {"images": str(images), "images_per_half": None, "image_side": None, "channels": 4, "epochs": 1}
    run = search(tmp_path / "run", optimizer="darts", keep_weights_every=1, **options)
    net, _ = run.supernet(1)
    assert net.classifier.out_features == 120
    state = begin(search_options({**TINY, **options}))
    assert (len(state.split.weights), len(state.split.architecture)) == (120, 120)
    assert state.split.architecture.min() == 120
    augmentation = state.augmentation(1)
    assert (augmentation.crop, augmentation.mean) == (2, state.images.mean)
    batch = state.images_of(torch.from_numpy(state.split.architecture), augmentation, None)
    expected = torch.from_numpy(np.load(images)["images"])[state.split.architecture]
    torch.testing.assert_close(batch.images, augmentation.normalise(expected))
    assert batch.images.shape[1:] == (3, 16, 16)
    scores = state.shared_weights(0).scores([state.net.space[0]])
    assert 0 <= scores.errors[0] <= 1


def test_screens_and_pictures_of_a_group_name_the_data_set_of_regrets(tmp_path):
    screen = Console(file=StringIO(), width=300)
    group = nb.search_seeds([0, 1], out=tmp_path / "group", console=screen, **{**TINY, "space": "nb201", "epochs": 1})
    shown = screen.file.getvalue().splitlines()
    assert shown.count("Regrets in the rows below are on cifar10.") == 2
    assert all(run.result.startswith("test regret on cifar10 ") for run in group)
    [main] = [line for line in shown if line.startswith("Test regret on cifar10 of 2 seeds, mean ± standard deviation")]
    assert f": {_mean(group, 'test_regret')} % ± " in main
    assert main.endswith("; the mean over all architectures of nb201 is 7.31 %")
    for name in ("cifar100", "ImageNet16-120"):
        assert any(f"Test regret on {name}: {_mean(group, f'{name}_test_regret')} % ± " in line for line in shown)
    axes = regret_figure(group.runs, [run.metrics for run in group], nb.load_table("nb201")).axes[0]
    assert axes.figure.legends[0].get_title().get_text() == "mean and range of 2 seeds"
    main, *others = [line for line in axes.get_lines() if line.get_label().startswith("test regret")]
    assert (main.get_linestyle(), main.get_color()) == ("-", METHODS["darts"])
    assert [line.get_color() for line in others] == [DATA_SETS["cifar100"], DATA_SETS["ImageNet16-120"]]
    assert all(line.get_linewidth() < main.get_linewidth() for line in others)
    assert not {*DATA_SETS.values()} & {*METHODS.values()}


def _mean(group: nb.SearchGroup, column: str) -> str:
    return f"{100 * np.mean([run.metrics[column].iloc[-1] for run in group]):.2f}"


def test_a_search_on_a_user_data_set(tmp_path):
    images = write_images(tmp_path / "mine.npz", 3, 24)
    with np.load(images) as file:
        np.savez(images, **{name: np.tile(file[name], (20,) + (1,) * (file[name].ndim - 1)) for name in file})
    state = begin(search_options({**TINY, "images": str(images), "images_per_half": 21, "image_side": None}))
    assert state.net.classifier.out_features == 3
    assert state.images.side == 24
    assert state.augmentation(1).crop == 3


@pytest.mark.parametrize("space", ["nb201", "nats-size"])
def test_tables_of_several_data_sets_refuse_searches_on_a_user_data_set(space, tmp_path):
    np.savez(tmp_path / "mine.npz", images=np.zeros((8, 16, 16, 3), np.uint8), labels=np.arange(8) % 2)
    options = {"space": space, "images": str(tmp_path / "mine.npz"), "scale": "quick", "batch_size": 2, "device": "cpu"}
    table = nb.load_table(space)
    with refuses(nb.InvalidInputError, table.id, "mine", "cifar10, cifar100 or ImageNet16-120", options="images"):
        nb.search("darts", out=tmp_path / "run", **options)
    with refuses(nb.InvalidInputError, table.id, "mine", options="images"):
        nb.plan("search", optimizer="darts", measure=False, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


def trained_on(dataset: str | None, folder: Path) -> str:
    """The folder of a table with an invented training of every network of `SMALL_SPACE` on one data set."""
    names = [str(arch) for arch in SMALL_SPACE.architectures("unique")]
    accuracies = np.linspace(0.5, 0.9, len(names))
    frame = pandas.DataFrame({"architecture": names, "epochs": 12, "validation_accuracy": accuracies})
    frame = frame.assign(test_accuracy=accuracies - 0.01, training_time=10.0 + accuracies)
    nb.table_from_frame(frame, space=SMALL_SPACE, dataset=dataset).save(folder)
    return str(folder)


@pytest.mark.parametrize(
    ("trained", "label"), [("cifar100", "cifar100"), ("mine", "mine"), ("cifar10", "cifar10"), (None, "cifar10")]
)
def test_regrets_are_labelled_with_the_data_set_of_the_table(trained, label, tmp_path):
    table, screen = trained_on(trained, tmp_path / "table"), Console(file=StringIO(), width=300)
    options = {"space": "tiny_search:SMALL_SPACE", "table": table}
    run = nb.search(out=tmp_path / "run", console=screen, **{**TINY, **options, "epochs": 1})
    assert run.config["dataset"] == label
    note = f"The images are of CIFAR-10, but the regrets are of {label}, the data set of the table."
    assert (note in screen.file.getvalue().splitlines()) == (label != "cifar10")
    figure = regret_figure([run], [run.metrics], nb.load_table(table).covering(SMALL_SPACE))
    assert (f"Regrets are on {label}." in figure.caption) == (label != "cifar10")
    assert compare_runs([run]).facts.dataset == label
    if trained is not None:
        random = nb.black_box(
            "random", seconds=50, repeats=2, out=tmp_path / "random", console=Console(quiet=True), **options
        )
        assert compare_runs([run, random]).facts.dataset == label


def test_regrets_on_another_table_are_labelled_with_its_data_set(tmp_path):
    options = {"space": "tiny_search:SMALL_SPACE", "epochs": 1}
    run = search(tmp_path / "run", table=trained_on("cifar10", tmp_path / "table"), **options)
    other = nb.load_table(trained_on("cifar100", tmp_path / "other"))
    assert compare_runs([run]).facts.dataset == "cifar10"
    assert compare_runs([run], table=other).facts.dataset == "cifar100"
    study = nb.black_box(
        "random", seconds=50, repeats=2, out=tmp_path / "random", console=Console(quiet=True),
        space=options["space"], table=str(tmp_path / "table"),
    )  # fmt: skip
    assert rescore_black_box(study, other).config["dataset"] == "cifar100"
    page = nb.write_report_page(run, tmp_path / "report.html", table=str(tmp_path / "other"))
    assert "Test regret on tiny_search:SMALL_SPACE, cifar100" in page.read_text()


def test_images_of_a_user_may_belong_to_a_data_set_without_a_known_name():
    assert dataset_note("other", "mine") == dataset_note("cifar100", "cifar100") == ""
    expected = "The images are of another data set, but the regrets are of cifar10, the data set of the table."
    assert dataset_note("other", "cifar10") == expected


@pytest.mark.parametrize("side", [16, 32, 64])
def test_sizes_depend_on_the_image_side(side):
    preset, space = PRESETS["corrected"], nb.search_space("s1")
    net, given = nb.Supernet(space, 4, 4, preset, classes=120), []
    for cell in net.cells:
        cell.register_forward_pre_hook(lambda cell, inputs: given.append(inputs[0].numel()))
    with torch.no_grad():
        net.eval()(torch.zeros(1, 3, side, side), space[0])
    size = supernet_size(space, 4, 4, preset, classes=120, side=side)
    assert size == (sum(parameter.numel() for parameter in net.parameters()), sum(given))


def test_the_memory_bound_depends_on_classes_and_side(monkeypatch):
    config = search_options({**TINY, "batch_size": 8}).common
    space = nb.search_space("s1")
    size = supernet_size(space, 2, 1, PRESETS["corrected"], classes=120, side=16)
    needed = 12 * size.parameters + 4 * 8 * size.activations
    monkeypatch.setattr(machine, "memory_of", lambda device: needed)
    check_fits(config, space, classes=120, side=16)
    for more in ({"classes": 121, "side": 16}, {"classes": 120, "side": 17}):
        with pytest.raises(nb.InvalidInputError, match="channels="):
            check_fits(config, space, **more)
