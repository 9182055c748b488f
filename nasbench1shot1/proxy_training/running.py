"""Run a proxy study's trainings, new or resumed, and record them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nasbench1shot1.ground.errors import InvalidInputError, RunStoppedError
from nasbench1shot1.ground.files import as_path
from nasbench1shot1.ground.text import counted, line_printer, percent
from nasbench1shot1.proxy_training.record import FACTS, ProxyConfig, ProxyTrainings, proxy_config, summarise
from nasbench1shot1.runs.folder import COMMON, CONFIG, check_facts, description
from nasbench1shot1.runs.lifecycle import check_is_new, existing_run, new_run
from nasbench1shot1.runs.machine import cpu_threads
from nasbench1shot1.runs.options import check_unchanged, recorded_options, typed_options
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
        raise InvalidInputError("give out= for new trainings, or resume= for interrupted ones")
    try:
        if resume is not None:
            return _resume(as_path(resume, "resume"), options, console)
        return _start(proxy_config(options), as_path(out or "", "out"), console)
    except RunStoppedError as stop:
        how = f"stopped; to continue, repeat the reproduce command, or call train_proxies(resume='{stop.folder}')"
        raise KeyboardInterrupt(how) from stop


def _start(config: ProxyConfig, folder: Path, console: "Console | None") -> ProxyTrainings:
    from nasbench1shot1.proxy_training.loop import begin
    from nasbench1shot1.runs.machine import environment

    check_is_new(folder)
    with cpu_threads(config.threads):
        state = begin(config)
        with new_run(folder, RunWriter[ProxyTrainings], ProxyTrainings) as writer:
            described = description(ProxyTrainings.KIND, {COMMON: config.as_dict()}, _facts(state))
            writer.describe(described, environment(config.device))
            return _finish(state, writer, console)


def _resume(folder: Path, given: dict[str, Any], console: "Console | None") -> ProxyTrainings:
    from nasbench1shot1.proxy_training.loop import begin

    ProxyTrainings.open(folder)
    with existing_run(folder, RunWriter[ProxyTrainings], ProxyTrainings) as writer:
        recorded = ProxyTrainings.open(folder).config
        check_unchanged(folder, recorded, typed_options(ProxyConfig, given), ())
        config = recorded_options(ProxyConfig, recorded, folder / CONFIG).resolved()
        with cpu_threads(config.threads):
            state = begin(config)
            check_facts(folder, recorded, _facts(state))
            writer.restore(state)
            return _finish(state, writer, console)


def _facts(state: "ProxyState") -> dict[str, Any]:
    """Return the facts about the data, which are the fields of config.json besides the options."""
    halves = (len(state.split.weights), len(state.split.architecture))
    return dict(zip(FACTS, (state.space.id, state.images.sha256, *halves), strict=True))


class _Lines:
    """Prints a line for every architecture."""

    def __init__(self, architectures: int, console: "Console") -> None:
        self._architectures, self._print_line = architectures, line_printer(console)

    def recorded(self, line: dict[str, Any]) -> None:
        """Print the number, the architecture, the final error and the seconds."""
        error = f"validation error {percent(line['validation_errors'][-1], 1)}, {line['seconds']:.0f} s"
        self._print_line(f"{line['number'] + 1:>4}/{self._architectures}  {line['architecture']}: {error}")


def _finish(state: "ProxyState", writer: RunWriter[ProxyTrainings], console: "Console | None") -> ProxyTrainings:
    """Train the remaining architectures, then write the summary."""
    from nasbench1shot1.ground.notebooks import console_or_new
    from nasbench1shot1.proxy_training.loop import train_all

    console, config = console_or_new(console), state.config
    size = f"{counted(config.channels, 'channel')} × {counted(config.cells, 'cell')}"
    what = f"{counted(config.architectures, 'architecture')} of {config.space}, each trained alone"
    line_printer(console)(
        f"{what}: {size}, {counted(config.epochs, 'epoch')}, seed {config.seed}, into {writer.folder}"
    )
    train_all(state, writer, _Lines(config.architectures, console))
    trainings = ProxyTrainings.open(writer.folder)
    writer.finish(summarise(trainings.config, ProxyTrainings.read_lines(writer.folder)))
    return ProxyTrainings.open(writer.folder)
