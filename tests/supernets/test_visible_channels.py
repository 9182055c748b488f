"""Partial channels that are drawn at random (PC-DARTS, equation 2), against a mask written out."""

import pytest
import torch
from refusals import refuses
from rich.console import Console
from tiny_search import generator, search, tiny_state

import nasbench1shot1 as nb
from nasbench1shot1.conformance.tiny_search import differences
from nasbench1shot1.ground.errors import InvalidInputError
from nasbench1shot1.one_shot_search.loop import evaluate, training_steps
from nasbench1shot1.supernets.layers import Mixture, apply_to_part
from nasbench1shot1.supernets.supernet import Supernet
from nasbench1shot1.supernets.widening import draw_visible_channels

RANDOM = {"optimizer": "pc-darts", "channels": 8, "channel_sampling": "random", "epochs": 3}


def test_operations_see_the_drawn_channels_and_others_pass_by():
    x = torch.randn(2, 8, 3, 3, generator=generator(0), dtype=torch.float64).requires_grad_()
    visible = torch.tensor([1, 6])
    found = apply_to_part(x, 4, lambda seen: seen**3, visible)
    mask = torch.zeros(8, dtype=torch.float64)
    mask[visible] = 1
    mask = mask[:, None, None]
    torch.testing.assert_close(found, (mask * x) ** 3 + (1 - mask) * x, rtol=1e-14, atol=0)
    found.sum().backward()
    torch.testing.assert_close(x.grad, mask * 3 * x.detach() ** 2 + (1 - mask), rtol=1e-14, atol=0)


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_every_mixture_draws_channels_of_its_own(space):
    net = Supernet(nb.search_space(space), 8, 3, partial_channels=4, generator=generator(1))
    draw_visible_channels(net, generator(2))
    drawn = [tuple(m.visible.tolist()) for m in net.modules() if isinstance(m, Mixture)]
    assert len(set(drawn)) > 3
    assert all(channels == tuple(sorted(set(channels))) for channels in drawn)
    widths = [m.channels for m in net.modules() if isinstance(m, Mixture)]
    assert [4 * len(channels) for channels in drawn] == widths


def test_channels_differ_between_steps_and_are_equal_for_all_scores_of_an_epoch():
    state = tiny_state(**RANDOM)
    block = state.net.cells[0].blocks[0]
    drawn = [tuple(block.visible.tolist()) for _ in training_steps(state, 1)]
    drawn += [tuple(block.visible.tolist()) for _ in training_steps(state, 2)]
    assert len(set(drawn)) > 1
    evaluate(state, 2)
    of_epoch = block.visible.clone()
    for _ in training_steps(state, 3):
        pass
    state.shared_weights(2)  # with which a method scores at the end of an epoch
    assert torch.equal(block.visible, of_epoch)
    evaluate(state, 2)
    assert torch.equal(block.visible, of_epoch)


class Stop(Exception):
    """Ends a search in the middle."""


def stop_after_the_first_epoch(epoch):
    if epoch.line["epoch"] == 1:
        raise Stop


@pytest.mark.parametrize("space", ["s1", "nb201"])
def test_a_search_with_random_channels_is_resumed_with_equal_bits(space, tmp_path):
    whole = search(tmp_path / "whole", space=space, **RANDOM)
    with pytest.raises(Stop):
        search(tmp_path / "run", space=space, **RANDOM, callbacks=[stop_after_the_first_epoch])
    resumed = nb.search(resume=tmp_path / "run", console=Console(quiet=True))
    assert not differences(whole, resumed)
    assert whole.config["channel_sampling"] == "random"
    first = search(tmp_path / "first", space=space, **{**RANDOM, "channel_sampling": "first"})
    assert differences(whole, first)


def test_random_channels_need_partial_channels():
    with refuses(InvalidInputError, options="channel_sampling partial_channels"):
        tiny_state(optimizer="darts", channel_sampling="random")
