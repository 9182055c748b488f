"""ENAS's controller: a recurrent network that draws architectures, one decision after another.

Pham, Guan, Zoph, Le and Dean: Efficient Neural Architecture Search via Parameter Sharing, ICML 2018, sections 2.2, 2.3.
The controller always runs on the CPU. Its network is so small that kernel launches would dominate its cost on a GPU,
and the sampled architectures are needed on the host.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from nasbench1shot1.architecture import Architecture
from nasbench1shot1.ground.errors import InvalidInputError, option
from nasbench1shot1.optimizers.components.relaxation import gumbel_noise
from nasbench1shot1.space import Choice, OneShotSpace

INITIAL_RANGE = 0.1  # every weight starts uniformly within ± this, as in ENAS's code

Decisions = Sequence[Tensor]
"""For every choice of the space, the entries that N architectures take, (N, picks) int64, in the order of drawing."""


@dataclass(frozen=True)
class ControllerSettings:
    """The controller's settings; the defaults come from the published NAS-Bench-1Shot1 code (docs/enas.md).

    Attributes:
        hidden: number of units of the LSTM and of its input embeddings.
        temperature: divisor of the scores before the tanh.
        tanh_constant: bound of the scores after the tanh.
        operation_tanh_reduction: divisor of this bound for operations.
        average_picks: whether to use `averaged_draws`, as in the published NAS-Bench-1Shot1 code, instead of
            `successive_draws` for several parents.
        operation_bias: numbers added to the bounded scores of the operations; none if empty.
        operation_bias_start: initial values of the learned bias of the operations' scores; 0 if empty.
        layers: number of layers of the LSTM.
        shared: whether all decisions share one embedding and one output layer. As in NAS-Bench-201's published code,
            biases then start with PyTorch's initial values. Otherwise, they start as in ENAS's code.
    """

    hidden: int = 64
    temperature: float = 5.0
    tanh_constant: float = 2.5
    operation_tanh_reduction: float = 5.0
    average_picks: bool = False
    operation_bias: tuple[float, ...] = ()
    operation_bias_start: tuple[float, ...] = ()
    layers: int = 1
    shared: bool = False


@dataclass(frozen=True)
class Samples:
    """N drawn architectures.

    Attributes:
        architectures: the architectures.
        decisions: their decisions, as `Controller.score` expects them.
        log_probability: (N,) log-probabilities of drawing these decisions in this order, in nats.
        entropy: (N,) entropies of the distributions, summed over the decisions, in nats.
    """

    architectures: tuple[Architecture, ...]
    decisions: Decisions
    log_probability: Tensor
    entropy: Tensor


class Controller(nn.Module):
    """An LSTM that makes the decisions of `space.choices()` in order, each given the previous ones.

    Each step makes one decision. Its input is the mean embedding of the entries taken last, and a separate linear layer
    for the decision scores the entries, or one layer for all decisions if they share it. The score s of an entry
    becomes c · tanh(s / temperature); `picks` distinct entries are drawn from the softmax.
    """

    def __init__(self, space: OneShotSpace, settings: ControllerSettings, generator: torch.Generator) -> None:
        """Draw the weights from `generator`, which is on the CPU; the global generator is not used.

        Raises InvalidInputError if the decisions cannot share layers, because they have different entries.
        """
        super().__init__()
        self.space, self.settings = space, settings
        self.choices = space.choices()
        if settings.shared:
            _check_alike(space, self.choices)
        # Entry e of choice i has embedding first[i] + e; embedding 0 is the input of the first decision.
        distinct = self.choices[:1] if settings.shared else self.choices
        first = np.cumsum([1, *(choice.entries for choice in distinct)]).tolist()
        self._first = [1] * len(self.choices) if settings.shared else first
        with torch.device("meta"):  # allocates no memory, and does not draw from the global generator
            self.embedding = nn.Embedding(first[-1], settings.hidden)
            self.lstm = nn.LSTMCell(settings.hidden, settings.hidden)
            self.upper = nn.ModuleList(
                nn.LSTMCell(settings.hidden, settings.hidden) for _ in range(settings.layers - 1)
            )
            self.scores = nn.ModuleList(nn.Linear(settings.hidden, choice.entries) for choice in distinct)
        self.to_empty(device="cpu")
        self._initialise(generator)

    def sample(self, generator: torch.Generator, count: int = 1) -> Samples:
        """Draw `count` architectures with a CPU generator; their log-probability and entropy are differentiable."""
        return self._decide(count, lambda i, logits: draw(logits, self.choices[i].picks, generator))

    def score(self, decisions: Decisions) -> Samples:
        """Return given decisions with the log-probability and entropy that `sample` would return for them."""
        return self._decide(len(decisions[0]), lambda i, logits: decisions[i])

    def _decide(self, count: int, decide: Callable[[int, Tensor], Tensor]) -> Samples:
        """Make all decisions; `decide(i, logits (count, entries))` returns the picks of choice i, (count, picks)."""
        measure = averaged_draws if self.settings.average_picks else successive_draws
        states: list[tuple[Tensor, Tensor] | None] = [None] * self.settings.layers
        read = self.embedding(torch.zeros(count, dtype=torch.int64))
        log_probability, entropy, decisions = torch.zeros(count), torch.zeros(count), []
        for i, choice in enumerate(self.choices):
            for number, layer in enumerate((self.lstm, *self.upper)):
                states[number] = state = layer(read, states[number])
                read = state[0]
            logits = self._logits(i, choice, read)
            picks = decide(i, logits.detach())
            terms = measure(logits, picks)
            log_probability, entropy = log_probability + terms[0], entropy + terms[1]
            decisions.append(picks)
            read = self.embedding(self._first[i] + picks).mean(dim=1)
        return Samples(architectures(self.space, decisions), decisions, log_probability, entropy)

    def _logits(self, i: int, choice: Choice, hidden: Tensor) -> Tensor:
        """Return the logits of choice i, bounded by the tanh: (N, hidden) → (N, entries)."""
        settings = self.settings
        operation = choice.key == self.space.operation_key
        bound = settings.tanh_constant / (settings.operation_tanh_reduction if operation else 1)
        logits: Tensor = bound * torch.tanh(self.scores[i % len(self.scores)](hidden) / settings.temperature)
        return logits + torch.tensor(settings.operation_bias) if operation and settings.operation_bias else logits

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator) -> None:
        for weight in self.parameters():
            weight.uniform_(-INITIAL_RANGE, INITIAL_RANGE, generator=generator)
        usual = self.settings.hidden**-0.5  # PyTorch's bound
        for weight in self.upper.parameters():
            weight.uniform_(-usual, usual, generator=generator)
        if self.settings.shared:
            biases = [weight for name, weight in self.named_parameters() if "bias" in name]
            for bias in biases:
                bias.uniform_(-usual, usual, generator=generator)
            return
        for choice, layer in zip(self.choices, self.scores, strict=True):
            assert isinstance(layer, nn.Linear)
            layer.bias.zero_()
            if choice.key == self.space.operation_key and self.settings.operation_bias_start:
                layer.bias.copy_(torch.tensor(self.settings.operation_bias_start))


def _check_alike(space: OneShotSpace, choices: Sequence[Choice]) -> None:
    """Raise InvalidInputError unless all choices have the same entries."""
    if len({(choice.key, choice.entries) for choice in choices}) > 1:
        raise InvalidInputError(
            f"{option('controller', 'nasbench201')} needs decisions with the same number of entries, but the "
            f"decisions of {space.name} differ: give {option('controller', 'corrected')}"
        )


def draw(logits: Tensor, picks: int, generator: torch.Generator) -> Tensor:
    """Draw `picks` distinct entries one after another, each from the softmax over the remaining entries.

    The largest logits with Gumbel noise, in descending order, have this distribution (Kool, van Hoof and Welling:
    Stochastic Beams and Where to Find Them, ICML 2019, section 2.3).

    Args:
        logits: (N, entries) logits.
        picks: number of picks, at most the number of entries.
        generator: a generator on the CPU.

    Returns:
        (N, picks) int64 entries, in the order of drawing.
    """
    return (logits + gumbel_noise(logits.shape, generator)).topk(picks, dim=1).indices


def successive_draws(logits: Tensor, picks: Tensor) -> tuple[Tensor, Tensor]:
    """Return log-probability and entropy, (N,) each, of draws without replacement, each given the previous draws.

    The probabilities of all orders of all picks sum to 1. `logits` are (N, entries), `picks` (N, picks).
    """
    log_probability, entropy = logits.new_zeros(len(logits)), logits.new_zeros(len(logits))
    taken = torch.zeros_like(logits, dtype=torch.bool)
    for pick in picks.unbind(dim=1):
        left = logits.masked_fill(taken, -torch.inf).log_softmax(dim=1)
        log_probability = log_probability + left.gather(1, pick[:, None])[:, 0]
        entropy = entropy + _entropy(left.masked_fill(taken, 0), left.exp())  # 0 · log 0 = 0, also in the gradient
        taken = taken.scatter(1, pick[:, None], True)
    return log_probability, entropy


def averaged_draws(logits: Tensor, picks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the published code's replacement: the mean over the picks as if each were the first, and one entropy.

    Shapes are as in `successive_draws`. For one pick, both functions agree; for more, this is not a log-probability.
    """
    first = logits.log_softmax(dim=1)
    return first.gather(1, picks).mean(dim=1), _entropy(first, first.exp())


def _entropy(log_probabilities: Tensor, probabilities: Tensor) -> Tensor:
    return -(probabilities * log_probabilities).sum(dim=1)


def architectures(space: OneShotSpace, decisions: Decisions) -> tuple[Architecture, ...]:
    """Return the architectures with the given decisions, one for each of their N rows."""
    per_architecture = zip(*(picks.tolist() for picks in decisions), strict=True)
    return tuple(space.from_picks(taken) for taken in per_architecture)
