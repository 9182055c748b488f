"""RMSProp as in TensorFlow 1 (`tf.train.RMSPropOptimizer`), which differs from PyTorch's in three places."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class TensorFlowRMSProp(torch.optim.Optimizer):
    """RMSProp with momentum and L2 regularisation of all parameters.

    The update with g, the gradient of the loss plus weight_decay · ½ Σ p², is:

        rms      ← decay · rms + (1 - decay) · g²          rms starts at one, not at zero
        momentum ← momentum · momentum + lr · g / √(rms + epsilon)      epsilon under the root; lr inside
        p        ← p - momentum

    Args:
        params: the parameters to optimize.
        lr: learning rate; every step reads it from `param_groups[i]["lr"]`.
        decay: decay of the moving average of squared gradients.
        momentum: momentum of the steps.
        epsilon: constant added to the moving average before the square root.
        weight_decay: coefficient of the L2 term.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        decay: float = 0.9,
        momentum: float = 0.9,
        epsilon: float = 1.0,
        weight_decay: float = 0.0,
    ) -> None:
        settings = {"lr": lr, "decay": decay, "momentum": momentum, "epsilon": epsilon, "weight_decay": weight_decay}
        super().__init__(params, settings)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient; `closure` is not called."""
        for group in self.param_groups:
            moved = [(p, p.grad) for p in group["params"] if p.grad is not None]
            if moved:
                self._step(group, [p for p, _ in moved], [gradient for _, gradient in moved])

    def _step(self, group: dict[str, Any], params: list[Tensor], of_loss: list[Tensor]) -> None:
        gradients = torch._foreach_add(of_loss, params, alpha=group["weight_decay"])
        rms = [self._slots(p)["rms"] for p in params]
        momentum = [self._slots(p)["momentum"] for p in params]
        torch._foreach_mul_(rms, group["decay"])
        torch._foreach_addcmul_(rms, gradients, gradients, 1 - group["decay"])
        roots = torch._foreach_add(rms, group["epsilon"])
        torch._foreach_sqrt_(roots)
        torch._foreach_mul_(momentum, group["momentum"])
        torch._foreach_addcdiv_(momentum, gradients, roots, group["lr"])
        torch._foreach_sub_(params, momentum)

    def _slots(self, parameter: Tensor) -> dict[str, Tensor]:
        slots: dict[str, Tensor] = self.state[parameter]
        if not slots:
            slots["rms"] = torch.ones_like(parameter, memory_format=torch.preserve_format)
            slots["momentum"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        return slots
