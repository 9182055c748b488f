"""What distinguishes the relaxations, for checks of options; `relaxation.py` computes them with PyTorch."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from nasbench1shot1.runs.options import Form

_Names = Literal[
    "softmax", "gumbel", "gumbel-operations", "single-path", "interpolation", "sigmoid", "dirichlet", "reinmax"
]
RelaxationName = Annotated[_Names, Form("NAME")]
RELAXATION_NAMES = get_args(_Names)
"""The names in `KINDS` and in `relaxation.RELAXATIONS`."""

Encoding = Literal["softmax", "sigmoid", "dirichlet"]


@dataclass(frozen=True, kw_only=True)
class RelaxationKind:
    """How a relaxation turns Λ into mixing weights.

    Attributes:
        encoding: the function of Λ that gives the shares or probabilities of the candidates.
        has_noise: whether passes differ at equal Λ.
        one_sample: why a pass can have only one sample, as the end of a sentence; empty if it can have several.
        gives_shares: whether each vector of mixing weights is positive and adds up to 1.
        samples: whether most candidates have the weight 0, so that a weight step computes only the sampled ones.
        one_hot: the choices of one candidate whose mixing weights are one-hot in weight steps.
        separates_operations: whether operations are treated in another way than edges.
        mixes_widths: whether it interpolates outputs of different widths, so that a space needs widths.
        estimates_gradient: whether the gradient of Λ is an estimate of its own, which needs the outputs of all
            operations, and not the gradient of the mixing weights.
    """

    encoding: Encoding = "softmax"
    has_noise: bool = True
    one_sample: str = ""
    gives_shares: bool = False
    samples: bool = False
    one_hot: Literal["none", "operations", "all"] = "none"
    separates_operations: bool = False
    mixes_widths: bool = False
    estimates_gradient: bool = False


KINDS: dict[str, RelaxationKind] = {
    "softmax": RelaxationKind(has_noise=False, one_sample="is not random", gives_shares=True),
    "gumbel": RelaxationKind(gives_shares=True),
    "gumbel-operations": RelaxationKind(samples=True, one_hot="operations", separates_operations=True),
    "single-path": RelaxationKind(one_sample="is the same for all cells", samples=True, one_hot="all"),
    "interpolation": RelaxationKind(samples=True, mixes_widths=True),
    "sigmoid": RelaxationKind(
        encoding="sigmoid", has_noise=False, one_sample="is not random", separates_operations=True
    ),
    "dirichlet": RelaxationKind(encoding="dirichlet", gives_shares=True),
    "reinmax": RelaxationKind(samples=True, one_hot="operations", separates_operations=True, estimates_gradient=True),
}
WITH_NOISE = tuple(name for name, kind in KINDS.items() if kind.has_noise)
