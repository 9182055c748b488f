import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch

from nasbench1shot1.runs import machine

CHECKOUT = Path(__file__).resolve().parents[2]
MODULE = Path(machine.__file__).resolve().relative_to(CHECKOUT)


def test_the_commit_of_the_checkout_is_recorded(tmp_path: Path) -> None:
    for arguments in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "first"]):
        identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)
    with patch.object(machine, "__file__", str(tmp_path / MODULE)):
        assert re.fullmatch("[0-9a-f]{40}", machine.environment("cpu")["git"])


def test_an_installed_package_records_no_commit(tmp_path: Path) -> None:
    with patch.object(machine, "__file__", str(tmp_path / MODULE)):
        assert machine.environment("cpu")["git"] is None


def test_tf32_is_off_inside_the_context_and_restored_after_an_error() -> None:
    backends: Any = torch.backends
    conv, matmul = backends.cudnn.conv, backends.cuda.matmul
    before = conv.fp32_precision, matmul.fp32_precision
    older = backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32
    with pytest.raises(ZeroDivisionError), machine.computing(1):
        assert (conv.fp32_precision, matmul.fp32_precision) == ("ieee", "ieee")
        assert (backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32) == (False, False)
        with backends.cudnn.flags(deterministic=True), machine.without_tf32():
            assert conv.fp32_precision == "ieee"
        assert not backends.cudnn.allow_tf32
        conv.fp32_precision = "tf32"
        _ = 1 / 0
    assert (conv.fp32_precision, matmul.fp32_precision) == before != ("ieee", "ieee")
    assert (backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32) == older


def test_runs_compute_with_the_usual_modes_of_pytorch_and_restore_those_of_the_caller() -> None:
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        with torch.inference_mode():
            with machine.computing(None):
                loss = 2 * torch.zeros(1, requires_grad=True)
                assert (loss.dtype, loss.device.type, loss.requires_grad) == (torch.float32, "cpu", True)
                torch.set_default_dtype(torch.float16)
                torch.set_default_device(None)
            loss = 2 * torch.zeros(1, requires_grad=True)
            assert (loss.dtype, loss.device.type, loss.requires_grad) == (torch.float64, "meta", False)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)


def test_tf32_is_switched_off_where_the_precisions_were_set_alone() -> None:
    """PyTorch does not let code read the older switch then."""
    conv = torch.backends.cudnn.conv
    before = conv.fp32_precision
    try:
        conv.fp32_precision = "none" if before == "ieee" else "ieee"
        chosen = conv.fp32_precision
        with machine.without_tf32():
            assert conv.fp32_precision == "ieee"
        assert conv.fp32_precision == chosen
    finally:
        conv.fp32_precision = before


@pytest.mark.parametrize("allowed", [(True, False), (False, True)])
def test_before_pytorch_2_9_tf32_has_switches(allowed: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    cudnn, matmul = (SimpleNamespace(allow_tf32=value) for value in allowed)
    monkeypatch.setattr(torch, "backends", SimpleNamespace(cudnn=cudnn, cuda=SimpleNamespace(matmul=matmul)))
    with machine.without_tf32():
        assert (cudnn.allow_tf32, matmul.allow_tf32) == (False, False)
    assert (cudnn.allow_tf32, matmul.allow_tf32) == allowed


@pytest.mark.parametrize(("device", "waited"), [("cpu", []), ("cuda:1", ["cuda:1"]), (torch.device("cuda"), ["cuda"])])
def test_only_the_given_gpu_is_waited_for(device: Any, waited: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda of: seen.append(str(of)))
    machine.wait_for(device)
    assert seen == waited
