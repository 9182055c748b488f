"""A proxy study's trainings as a kind of run: `train_proxies`, and what they give to the life cycle of all runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, RunStoppedError, option
from nasbench1shot1.ground.text import counted, line_printer, percent
from nasbench1shot1.proxy_training.record import FACTS, ProxyConfig, ProxyTrainings, proxy_config, summarise
from nasbench1shot1.runs.folder import CONFIG
from nasbench1shot1.runs.kind import Begun, Kind
from nasbench1shot1.runs.options import recorded_options
from nasbench1shot1.runs.running import run
from nasbench1shot1.runs.writer import RunWriter

if TYPE_CHECKING:
    from rich.console import Console

    from nasbench1shot1.proxy_training.loop import ProxyState


def train_proxies(
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    console: "Console | None" = None,
    **options: Any,
) -> ProxyTrainings:
    """Train sampled architectures without weight sharing, in the supernet's fixed-width network, or resume trainings.

    Args:
        out: folder of the new run; it must not exist, or must be empty.
        resume: folder of an interrupted run. Cannot be combined with `out`; given options must equal the recorded ones.
        console: a rich console for the progress; `Console(quiet=True)` is silent. Default: a new console.
        options: options such as cells=3, channels=8 or scale="quick": the fields of `proxy_training.ProxyConfig`.

    Returns:
        The finished trainings.

    Raises:
        UserError: an option is unknown or out of range, the folder holds other files, images are missing, a loss is
            infinite or NaN, or the disk is full. The recorded trainings are kept and can be resumed.
        KeyboardInterrupt: the user pressed Ctrl-C; the message explains how to continue.
    """
    if (out is None) == (resume is None):
        raise InvalidInputError(f"give {option('out')} for new trainings, or {option('resume')} for interrupted ones")
    try:
        return run(ProxyKind(), options, out=out, resume=resume, console=console)
    except RunStoppedError as stop:
        how = f"stopped; to continue, repeat the reproduce command, or call train_proxies(resume='{stop.folder}')"
        raise KeyboardInterrupt(how) from stop


class ProxyKind(Kind[ProxyConfig, "ProxyState", ProxyTrainings, RunWriter[ProxyTrainings]]):
    """Trainings of sampled architectures without weight sharing."""

    RECORD, WRITER = ProxyTrainings, RunWriter[ProxyTrainings]

    def options(self, given: Mapping[str, Any]) -> ProxyConfig:
        """Return resolved options."""
        return proxy_config(given)

    def recorded_options(self, run: ProxyTrainings) -> ProxyConfig:
        """Return the recorded options."""
        return recorded_options(ProxyConfig, run.config, run.folder / CONFIG).resolved()

    def begin(self, options: ProxyConfig, resumed: ProxyTrainings | None) -> "Begun[ProxyState]":
        """Draw the architectures and read the images."""
        from nasbench1shot1.proxy_training.loop import begin

        state = begin(options)
        halves = (len(state.split.weights), len(state.split.architecture))
        return Begun(state, dict(zip(FACTS, (state.space.id, state.images.sha256, *halves), strict=True)))

    def loop(self, begun: "Begun[ProxyState]", writer: RunWriter[ProxyTrainings], console: "Console") -> None:
        """Train the remaining architectures."""
        from nasbench1shot1.proxy_training.loop import train_all

        config = begun.state.config
        size = f"{counted(config.channels, 'channel')} × {counted(config.cells, 'cell')}"
        what = f"{counted(config.architectures, 'architecture')} of {config.space}, each trained alone"
        line_printer(console)(
            f"{what}: {size}, {counted(config.epochs, 'epoch')}, seed {config.seed}, into {writer.shown_folder}"
        )
        train_all(begun.state, writer, _Lines(config.architectures, console))

    def summarise(self, run: ProxyTrainings, begun: "Begun[ProxyState]") -> dict[str, Any]:
        """Return the errors of all trainings."""
        return summarise(run.config, ProxyTrainings.read_lines(run.folder))


class _Lines:
    """Prints a line for every architecture."""

    def __init__(self, architectures: int, console: "Console") -> None:
        self._architectures, self._print_line = architectures, line_printer(console)

    def recorded(self, line: dict[str, Any]) -> None:
        """Print the number, the architecture, the final error and the seconds."""
        error = f"validation error {percent(line['validation_errors'][-1], 1)}, {line['seconds']:.0f} s"
        self._print_line(f"{line['number'] + 1:>4}/{self._architectures}  {line['architecture']}: {error}")
