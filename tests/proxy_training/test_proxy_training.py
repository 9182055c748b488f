"""Separate trainings of sampled architectures: trained weights, random numbers and resuming."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from killed_run import assert_killed
from refusals import refuses
from rich.console import Console
from tiny_proxies import SIZE, TINY, resume, train, without_seconds
from torch.nn import functional as F

import nasbench1shot1 as nb
from nasbench1shot1.images.batches import epoch_generator
from nasbench1shot1.proxy_training import ProxyTrainings, loop, train_proxies
from nasbench1shot1.proxy_training.loop import ProxyState, begin, seconds_per_architecture
from nasbench1shot1.proxy_training.record import proxy_config
from nasbench1shot1.runs.schedules import cosine

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> ProxyTrainings:
    return train(tmp_path_factory.mktemp("proxies") / "run")


def state_of(**options) -> ProxyState:
    return begin(proxy_config({**TINY, **SIZE, **options}))


def test_samples_are_distinct_and_larger_samples_extend_smaller_ones():
    small, large = state_of(seed=3).architectures, state_of(seed=3, architectures=50).architectures
    assert large[:5] == small
    assert len(set(large)) == 50
    assert {arch.space for arch in large} == {"s3"}
    assert state_of(seed=4).architectures != small


def test_the_sample_is_uniform_over_all_architectures_with_loose_ends():
    """The mean of 2,000 uniform numbers in [0, 1] has standard deviation 0.29 / √2000."""
    state = state_of(space="s1", architectures=2000)
    indices = [state.space.index(arch) / len(state.space) for arch in state.architectures]
    assert abs(np.mean(indices) - 0.5) < 5 * 0.29 / 2000**0.5
    assert np.mean([len(arch.live_blocks) < 4 for arch in state.architectures]) > 0.1  # loose ends


def test_every_line_belongs_to_its_architecture(unbroken):
    assert nb.open_run(unbroken.folder).lines == unbroken.lines
    assert [line["number"] for line in unbroken.lines] == list(range(5))
    assert unbroken.architectures == state_of().architectures
    assert [line["cell_hash"] for line in unbroken.lines] == [arch.cell.hash for arch in unbroken.architectures]
    assert unbroken.validation_errors.shape == (5, 2)
    unbroken.validation_errors[:] = 0  # only the caller's copy
    assert unbroken.summary["mean_validation_error"] == pytest.approx(unbroken.validation_errors[:, -1].mean())
    assert unbroken.summary["best_validation_error"] == unbroken.validation_errors[:, -1].min()


def test_an_epoch_equals_a_plain_loop_over_the_same_batches():
    """SGD with momentum and weight decay, gradient clipping, cosine schedule and error, implemented independently."""
    state, number = state_of(weight_decay=0.01, grad_clip=0.5), 2
    net, arch, config = state.network(number), state.architectures[2], state.config
    velocities, errors, losses = {}, [], []
    for epoch in (1, 2):
        net.train()
        order = torch.randperm(40, generator=epoch_generator(0, "proxy/2/order", epoch))
        drawn = epoch_generator(0, "proxy/2/augmentation", epoch)
        rate = 0.001 + 0.024 * (1 + np.cos(np.pi * (epoch - 1) / 2)) / 2
        of_epoch = []
        for rows in torch.from_numpy(state.split.weights)[order].split(10):
            pixels, labels = state.images.batch(rows)
            loss = F.cross_entropy(net(state.augmentation(pixels, drawn), arch), labels)
            of_epoch.append(loss.item())
            net.zero_grad()
            loss.backward()
            used = {name: p for name, p in net.named_parameters() if p.grad is not None}
            norm = torch.stack([p.grad.norm() for p in used.values()]).norm()
            for name, p in used.items():
                gradient = p.grad * min(1.0, float(0.5 / (norm + 1e-6))) + 0.01 * p.data
                velocities[name] = gradient + 0.9 * velocities[name] if name in velocities else gradient.clone()
                p.data -= rate * velocities[name]
        net.eval()
        pixels, labels = state.images.batch(torch.from_numpy(state.split.architecture))
        with torch.no_grad():
            logits = net(state.augmentation.normalise(pixels), arch)
        errors.append((logits.argmax(1) != labels).float().mean().item())
        losses.append(np.mean(of_epoch))
    assert config.momentum == 0.9
    epochs = list(loop.train_one(state, number))
    assert [epoch.train_loss for epoch in epochs] == pytest.approx(losses, rel=1e-4)
    # logits of an image may tie
    assert [epoch.validation_error for epoch in epochs] == pytest.approx(errors, abs=1.5 / 40)
    assert losses[1] != losses[0]


def test_the_schedule_equals_the_schedule_of_a_search():
    rates = [cosine(epoch, 50, 0.025, 0.001) for epoch in range(1, 51)]
    assert rates[0] == 0.025
    assert rates == sorted(rates, reverse=True)
    assert rates[25] == pytest.approx(0.013)
    assert cosine(51, 50, 0.025, 0.001) == pytest.approx(0.001)


def test_validation_uses_the_running_statistics_of_the_network():
    """With a learning rate of 0, training changes only these statistics."""
    logits = []
    for momentum in (0.0, 1.0):
        state = state_of(batch_norm_momentum=momentum)
        net = state.network(0).train()
        list(loop.training_steps(state, 0, 1, net, torch.optim.SGD(net.parameters(), 0.0)))
        pixels, labels = state.images.batch(torch.from_numpy(state.split.architecture))
        with torch.no_grad():
            scores = net.eval()(state.augmentation.normalise(pixels), state.architectures[0])
        wrong = (scores.argmax(1) != labels).float().mean().item()
        assert loop.validation_error(state, 0, net.train()) == pytest.approx(wrong)
        logits.append(scores)
    assert not torch.allclose(*logits)


def test_only_the_parts_of_the_architecture_are_trained():
    state = state_of()
    number = next(i for i, arch in enumerate(state.architectures) if len(arch.live_blocks) < 5)
    arch, net = state.architectures[number], state.network(number)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    list(loop.training_steps(state, number, 1, net.train(), loop.weight_optimizer(state, net)))
    changed = {name for name, value in net.state_dict().items() if not torch.equal(value, before[name])}
    dead = set(range(1, 6)) - set(arch.live_blocks)
    assert any(name.startswith("stem.") for name in changed)
    assert not [name for name in changed for node in dead if name.startswith(f"cells.0.blocks.{node - 1}.")]


def test_the_training_of_an_architecture_depends_only_on_its_index_and_the_seed(unbroken):
    epochs = list(loop.train_one(state_of(architectures=7), 3))
    assert [epoch.validation_error for epoch in epochs] == unbroken.lines[3]["validation_errors"]
    assert [epoch.train_loss for epoch in epochs] == unbroken.lines[3]["train_losses"]
    other = list(loop.train_one(state_of(architectures=7), 4))
    assert [epoch.train_loss for epoch in other] != unbroken.lines[3]["train_losses"]


# A real process that sends itself SIGKILL at a chosen point: no handler, no clean-up.
DRIVER = """
import os, signal, sys
from killed_run import assert_killed
from rich.console import Console
from nasbench1shot1.proxy_training import loop, train_proxies
from nasbench1shot1.runs import writer

def die(): os.kill(os.getpid(), signal.SIGKILL)

moment, out, options = sys.argv[1], sys.argv[2], eval(sys.argv[3])
if moment == "training":
    def kill_in_training(state, number, net, real=loop.validation_error):
        if number == 2:
            die()
        return real(state, number, net)
    loop.validation_error = kill_in_training
elif moment == "first training":
    loop.validation_error = lambda *_: die()
elif moment == "half a line":
    def kill_in_a_line(self, line, real=writer.RunWriter.append_line):
        if line["number"] == 2:
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write('{"number": 2, "arch')
            die()
        real(self, line)
    writer.RunWriter.append_line = kill_in_a_line
elif moment == "line":
    def kill_after_a_line(self, line, real=writer.RunWriter.append_line):
        real(self, line)
        if line["number"] == 2:
            die()
    writer.RunWriter.append_line = kill_after_a_line
elif moment == "summary":
    writer.RunWriter.finish = lambda self, summary: die()
train_proxies(out=out, console=Console(quiet=True), **options)
"""


@pytest.mark.parametrize(
    ("moment", "kept"), [("first training", 0), ("training", 2), ("half a line", 2), ("line", 2), ("summary", 5)]
)
def test_a_killed_and_resumed_training_gives_identical_results(unbroken, tmp_path, moment, kept):
    assert_killed(DRIVER, tmp_path / "run", moment, str(tmp_path / "run"), repr({**TINY, **SIZE}))
    seconds = [line["seconds"] for line in ProxyTrainings.open(tmp_path / "run").lines[:kept]]
    resumed = resume(tmp_path / "run")
    assert without_seconds(resumed) == without_seconds(unbroken)
    assert [line["seconds"] for line in resumed.lines[:kept]] == seconds  # not trained again
    assert resumed.config == unbroken.config
    assert resumed.is_finished


def test_resuming_a_finished_folder_only_rewrites_the_summary(unbroken, tmp_path, monkeypatch):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    monkeypatch.setattr(loop, "train_one", None)
    assert resume(folder).lines == unbroken.lines


def test_an_interruption_explains_how_to_continue(tmp_path, monkeypatch):
    real = loop.validation_error

    def interrupted(state, number, net):
        if number == 1:
            raise KeyboardInterrupt
        return real(state, number, net)

    with monkeypatch.context() as patch, refuses(KeyboardInterrupt, tmp_path / "run"):
        patch.setattr(loop, "validation_error", interrupted)
        train(tmp_path / "run")
    with refuses(nb.UserError, tmp_path / "run"):
        _ = ProxyTrainings.open(tmp_path / "run").summary
    assert len(resume(tmp_path / "run").lines) == 5


@pytest.mark.parametrize(
    ("change", "values"),
    [
        (('"number": 1', '"number": 7'), "0 1"),
        (('"validation_errors": [', '"validation_errors": [0.5, '), "epochs"),
        (('"validation_errors": [', '"validation_errors": [7, '), "epochs"),
        (('"train_losses": [', '"train_losses": ["x", '), "epochs"),
        (('"cell_hash": "', '"cell_hash": "0'), "summary.json"),
    ],
)
def test_a_damaged_record_is_refused(unbroken, tmp_path, change, values):
    folder = Path(shutil.copytree(unbroken.folder, tmp_path / "run"))
    lines = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    lines[1] = lines[1].replace(*change)
    (folder / "metrics.jsonl").write_text("".join(lines))
    with refuses(nb.DamagedFileError, folder / "metrics.jsonl", *values.split()):
        _ = ProxyTrainings.open(folder).lines


@pytest.mark.parametrize("value", ["7.0", "-0.1", "true", "null"])
def test_an_impossible_error_is_refused(unbroken, tmp_path, value):
    folder = Path(shutil.copytree(unbroken.folder, tmp_path / "run"))
    text = (folder / "metrics.jsonl").read_text()
    first = repr(unbroken.lines[0]["validation_errors"][0])
    (folder / "metrics.jsonl").write_text(
        text.replace(f'"validation_errors": [{first}', f'"validation_errors": [{value}', 1)
    )
    with refuses(nb.DamagedFileError, folder / "metrics.jsonl", "impossible"):
        _ = ProxyTrainings.open(folder).lines


def test_resuming_with_other_options_is_refused(unbroken, tmp_path):
    folder = shutil.copytree(unbroken.folder, tmp_path / "run")
    with pytest.raises(nb.InvalidInputError, match=r"epochs=2.*\b3\b"):
        train_proxies(resume=folder, epochs=3, console=QUIET)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"architectures": 2}, r"^architectures\b.*3 and.*\b1,000,000\b.*\b2\b"),
        ({"space": "s1", "architectures": 10**6}, "s1.*14,580 architectures.*architectures="),
        ({"batch_size": 41}, "batch_size=41.*40 training"),
        ({"learning_rate": 1e-4}, "learning_rate=0.0001.*learning_rate_min="),
        ({"epoch": 3}, "mean 'epochs'"),
        ({"space": "s4"}, "'s4'"),
        ({"learning_rate": 1e30, "grad_clip": 1e30}, "architecture 0"),
    ],
)
def test_bad_input_is_refused_and_writes_nothing(tmp_path, options, sentence):
    with pytest.raises(nb.UserError, match=sentence):
        train(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("side", "options", "sentence"),
    [
        (4, {"batch_size": 39}, r"batch_size=39\b.*4 × 4.*batch_size= or images_per_half="),
        (6, {"space": "nb201"}, "6 × 6.*multiple of 4"),
    ],
)
def test_small_images_are_refused(tmp_path, side, options, sentence):
    pixels = np.random.default_rng(0).integers(0, 256, (100, side, side, 3), np.uint8)
    np.savez(tmp_path / "small.npz", images=pixels, labels=np.arange(100) % 2)
    with pytest.raises(nb.InvalidInputError, match=sentence):
        begin(proxy_config({**TINY, **SIZE, "cells": 3, "images": str(tmp_path / "small.npz"), **options}))


def test_the_estimate_grows_with_the_work():
    """A thousand times as many epochs take longer, however busy the machine is during timing."""
    short, long = (seconds_per_architecture(proxy_config({**TINY, **SIZE, "epochs": n})) for n in (1, 1000))
    assert 0 < short < long
