"""The terminal output of a black-box study: before, during and after its searches."""

from rich.console import Console

from nasbench1shot1.black_box_search.record import FIGURE, BlackBoxStudy, statistics_of
from nasbench1shot1.black_box_search.repeats import Repeats
from nasbench1shot1.ground.files import picture_name
from nasbench1shot1.ground.notebooks import console_or_new
from nasbench1shot1.ground.progress import ProgressDisplay
from nasbench1shot1.ground.text import counted, line_printer, percent
from nasbench1shot1.runs.writer import RunWriter


class StudyProgress(ProgressDisplay):
    """A progress bar of finished searches, as a context manager. Without a terminal, it prints nothing."""

    def __init__(self, done: int, searches: int, console: Console) -> None:
        super().__init__(console)
        self._searches, self._task = searches, self._bar.add_task("", total=searches)
        self.recorded(done)

    def recorded(self, searches: int) -> None:
        """Set the number of finished searches."""
        self._bar.update(self._task, completed=searches, description=f"searches {searches}/{self._searches}")


def announce(repeats: Repeats, writer: RunWriter[BlackBoxStudy], console: Console | None) -> Console:
    """Print the settings of the study and return the console."""
    console = console_or_new(console)
    print_line, config = line_printer(console), repeats.options.common
    print_line(f"{config.optimizer} on {config.space}, seed {config.seed}; folder: {writer.folder}")
    ends = [f"{config.seconds:,.0f} simulated seconds"] if config.seconds is not None else []
    ends += [counted(config.evaluations, "training")] if config.evaluations is not None else []
    print_line(f"{counted(config.repeats, 'search')} of {' or '.join(ends)} each")
    print_line(f"Table {repeats.table.id}, data set {config.dataset}, {counted(repeats.epochs, 'epoch')} per training")
    for note in repeats.table.notes():
        print_line(note)
    if writer.recorded:
        print_line(f"{counted(writer.recorded, 'search')} already recorded")
    return console


def show_result(study: BlackBoxStudy, console: Console) -> None:
    """Print the test regret over all searches and the path of the picture."""
    print_line, regrets = line_printer(console), statistics_of([line["test_regret"] for line in study.lines])
    if regrets is None:
        print_line("The table lacks test regrets of final incumbents, so no picture was drawn.")
        return
    predicted = "" if all(line["test_measured"] for line in study.lines) else " (predicted)"
    spread = f"{percent(regrets['mean'])} ± {percent(regrets['std'])}, median {percent(regrets['median'])}"
    print_line(f"Test regret of the final incumbents: {spread}{predicted}")
    print_line(f"Picture: {study.folder / picture_name(FIGURE, study.config.get('format'))}")
