"""GPU checks without a GPU: with fake tensors, no step waits for the device; kernels are counted."""

import sys

import gpu_dry_run
import pytest
import torch
from dry_passes import Failure, Size, check_steps, dry_search, watched, weight_pass
from kernel_counts import dry_device

from nasbench1shot1.one_shot_search.loop import batch_pairs
from nasbench1shot1.one_shot_search.measurements import one_shot_error
from nasbench1shot1.one_shot_search.weight_step import weight_step

TINY = Size(channels=4, cells=1, batch_size=8)


def counted(space, optimizer="darts", size=TINY):
    with dry_search(optimizer, space, "meta", size) as (state, counter):
        batch, _ = next(batch_pairs(state, 1))
        counter.reset()
        weight_pass(state, batch)
        return counter.reset()


def test_the_kernels_of_a_pass_match_its_layers():
    kernels = counted("s1").kernels
    convolutions = 1 + 5 + 2 * 4 + 1  # stem, projections of 4 blocks and the output, blocks, head
    assert kernels["convolution"] == kernels["native_batch_norm"] == convolutions
    assert kernels["relu_"] + kernels["relu"] == convolutions  # one before the head instead of one after it
    assert kernels["max_pool2d_with_indices"] == 4
    sums = [3] * 4 + [3, 4]  # maps of every weighted sum: the operations of 4 blocks, the inputs of blocks 3 and 4
    assert kernels["addcmul_"] == sum(maps - 1 for maps in sums)
    assert kernels["mul"] == len(sums) + 1  # the first summand of each, and of the cell's output
    assert kernels["cat"] == kernels["addcmul"] == 1


@pytest.mark.parametrize(("space", "kernels"), [("s1", 742), ("s3", 944)])
def test_the_number_of_kernels_does_not_grow(space, kernels):
    assert counted(space, size=Size(batch_size=2)).kernels.total() <= kernels  # benchmarks/README.md


def test_bytes_count_each_input_read_and_each_output_written():
    with dry_device("meta") as counter:
        x = torch.empty(4, 5).to("meta")
        counter.reset()
        x + x[0].expand(4, 5)
        assert counter.reset().bytes == 4 * (20 + 5 + 20)
        x.view(20)
        torch.empty_like(x)
        assert not counter.reset().kernels


@pytest.mark.parametrize("optimizer", [*gpu_dry_run.OPTIMIZERS, "setn"])
def test_no_step_waits_for_the_device(optimizer):
    check_steps(optimizer, "s3", TINY)


def test_a_weight_step_of_darts_copies_nothing_to_the_host():
    with dry_search("darts", "s1", "meta", TINY) as (state, counter):
        batch, _ = next(batch_pairs(state, 1))
        counter.reset()
        weight_step(state, batch)
        counts = counter.reset()
    assert counts.host_copies.total() == counts.uploads == 0
    assert counts.kernels.total() > 100


def test_the_one_shot_error_copies_one_number_to_the_host():
    with dry_search("darts", "s1", "meta", TINY) as (state, counter):
        one_shot_error(state, 1)
        assert counter.reset().host_copies.total() == 1


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda x: x.sum().item(), r"1 times.*\(1 × aten::_local_scalar_dense\)"),
        (lambda x: x.cpu(), r"1 times.*\(1 × aten::_to_copy\)"),
        (lambda x: torch.zeros(3).copy_(x), r"1 times.*\(1 × aten::copy_\)"),
        (lambda x: x.nonzero(), "aten::nonzero"),
        (lambda x: x + torch.ones(3), r"aten::add.*\(3,\)"),
    ],
)
def test_code_that_would_fail_on_a_gpu_is_reported_in_one_sentence(action, message):
    with dry_device("meta") as counter:
        x = torch.zeros(3).to("meta")
        with pytest.raises(Failure, match=message):
            watched(counter, "a step", lambda: action(x))


def test_computation_on_the_host_is_not_counted():
    with dry_device("meta") as counter:
        assert (torch.ones(3) + torch.ones(3)).tolist() == [2, 2, 2]
        assert (torch.ones((), device="meta") * torch.ones(())).device.type == "meta"
        assert counter.reset().kernels["mul"] == 1


def test_a_cpu_build_refuses_fake_cuda_tensors_in_one_sentence(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(sys, "argv", ["gpu_dry_run.py"])
    with pytest.raises(SystemExit, match=r"CPU.*PyTorch.*CUDA.*--device"):
        gpu_dry_run.main()


def test_the_table_has_a_row_for_every_optimizer(monkeypatch, capsys, tmp_path):
    size = ["--channels", "4", "--cells", "1", "--batch-size", "8"]
    chosen = ["--device", "meta", "--spaces", "s1", "--optimizers", "darts", "random-ws", *size]
    monkeypatch.setattr(sys, "argv", ["gpu_dry_run.py", *chosen, "--out", str(tmp_path / "out.json")])
    gpu_dry_run.main()
    assert [line.split(" | ")[1] for line in capsys.readouterr().out.splitlines()] == ["darts", "random-ws"]
    assert (tmp_path / "out.json").is_file()
