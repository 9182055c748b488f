"""The HTML of a report: tables, options and commands as text, and the data of its curves and cells."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from nasbench1shot1 import __version__
from nasbench1shot1.black_box_search.goal import Goal
from nasbench1shot1.display.cells import ENDS, OPERATIONS
from nasbench1shot1.experiments.comparison.measures import interval_name, summarise
from nasbench1shot1.experiments.correlation.record import Ranking
from nasbench1shot1.experiments.report_page.charts import (
    candidate_lines,
    number_of_curves,
    points_per_curve,
    regret_chart,
)
from nasbench1shot1.experiments.report_page.markup import (
    NO_VALUE,
    Cell,
    Markup,
    definitions,
    joined,
    sortable_table,
    tag,
)
from nasbench1shot1.experiments.report_page.panels import (
    Drawn,
    Panel,
    Scoring,
    differences,
    panels_of,
    separated_text,
    source_of,
)
from nasbench1shot1.experiments.report_page.rankings import HEADING as RANKINGS
from nasbench1shot1.experiments.report_page.rankings import (
    TABLE_NOTE,
    Ranked,
    correlation_table,
    dots_per_ranking,
    ranked,
)
from nasbench1shot1.experiments.report_page.repeating import repeated
from nasbench1shot1.experiments.report_page.searched import frames_per_search, searched
from nasbench1shot1.experiments.report_page.subjects import Subject
from nasbench1shot1.experiments.report_page.trainings import HEADING as LEARNING
from nasbench1shot1.experiments.report_page.trainings import SPLITS, Trainings, trained_networks
from nasbench1shot1.ground.errors import UserError, flag, in_words
from nasbench1shot1.ground.text import counted, typed
from nasbench1shot1.tables.names import bundled_tables

FOLDER = "nasbench1shot1.experiments.report_page"
SCRIPTS = ("base.js", "plot.js", "charts.js", "scatter.js", "cells.js", "page.js")
"""The parts of the page's script, in order."""
_FOLDERS = f"Their folders, after {flag('out')}, must not exist: choose others, or delete the runs first."


def page_of(subjects: Sequence[Subject], scoring: Scoring, command: str, watch: float | None = None) -> str:
    """Return the page of a report. Equal runs give equal pages.

    Args:
        subjects: the runs.
        scoring: how architectures are scored.
        command: the command that writes the report again.
        watch: the seconds after which a page of runs in progress is loaded again; None: it is not renewed.

    Raises the errors of `panels_of`, `ranked` and `searched`.
    """
    panels = panels_of(subjects, scoring)
    trained = Trainings(trained_networks(subjects), scoring)
    most = points_per_curve(number_of_curves(panels, len(trained.networks) * len(SPLITS)))
    drawn = [panel for panel in panels if panel.axes]
    charts = [regret_chart(panel, most) for panel in drawn]
    curves = trained.chart(most)
    if curves["axes"]:
        charts.append(curves)
    asked = [subject for subject in subjects if isinstance(subject.record, Ranking)]
    rankings = [found for subject in asked if (found := ranked(subject, scoring)) is not None]
    dots = dots_per_ranking(len(rankings))
    searches = _searches(subjects, scoring)
    sections = [
        *((f"panel-{number}", panel.title, _panel(panel, drawn, panels)) for number, panel in enumerate(panels)),
        *([("rankings", RANKINGS, _rankings(rankings, dots))] if asked else []),
        *([("trainings", LEARNING, _trainings(trained, charts))] if trained.networks else []),
        *([("cells", "Preferred cells and Λ over the epochs", tag("div", id="searches"))] if searches else []),
        ("runs", "What was run", _runs(subjects)),
        ("commands", "How to repeat it", _commands(subjects, command)),
    ]
    data = {
        "charts": charts,
        "scatters": [of.scatter(dots) for of in rankings],
        "searches": searches,
        "candidates": candidate_lines(),
        "operations": OPERATIONS,
        "ends": ENDS,
        "watch": watch,
    }
    return _filled(
        title=_title(subjects),
        lead=_lead(subjects, panels),
        links=joined(tag("a", heading, href=f"#{name}") for name, heading, _ in sections),
        watched=_watched(watch),
        sections=joined(_section(*each) for each in sections),
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    )


def _filled(**parts: str) -> str:
    """Return page.html with its parts, its style and its script, which alone may be used in it."""
    page, style, script = _file("page.html"), _file("page.css"), "\n".join(map(_file, SCRIPTS))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return Template(page).substitute(parts, policy=policy, style=style, script=script, version=__version__)


def _file(name: str) -> str:
    return files(FOLDER).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# Frame ----------------------------------------------------------------------------------------------------------------


def _title(subjects: Sequence[Subject]) -> Markup:
    spaces = dict.fromkeys(str(subject.config["space"]) for subject in subjects if "space" in subject.config)
    where = f" on {', '.join(spaces)}" if spaces else ""
    return joined([f"{counted(len(subjects), 'run')}{where}"])


def _lead(subjects: Sequence[Subject], panels: Sequence[Panel]) -> Markup:
    drawn = dict[str, list[Drawn]]()
    for panel in panels:
        drawn.setdefault(panel.key.table, []).extend(panel.drawn)
    unfinished = [f"{subject.label} ({subject.progress})" for subject in subjects if subject.progress]
    sentences = [
        *(f"Table {table} ({source})." for table, own in drawn.items() if (source := source_of(own))),
        f"Unfinished runs, shown as far as recorded: {'; '.join(unfinished)}." if unfinished else "",
        separated_text(panels),
    ]
    warnings = [tag("p", f"Warning: {said}", class_="warning") for said in differences(panels)]
    return joined([*(tag("p", sentence) for sentence in sentences if sentence), *warnings])


def _section(name: str, heading: str, content: Markup) -> Markup:
    return tag("section", tag("h2", heading, id=f"{name}-heading"), content, id=name, aria_labelledby=f"{name}-heading")


def _watched(watch: float | None) -> Markup:
    if watch is None:
        return Markup("")
    box = tag("label", Markup('<input type="checkbox" id="reload" checked>'), "Reload automatically", class_="check")
    said = f"Runs are in progress. The file is rewritten every {watch:g} s, and this page reloads it."
    return tag("div", tag("p", said), box, class_="watched", role="note")


def _notes(sentences: Iterable[str]) -> Markup:
    items = [tag("li", sentence) for sentence in sentences if sentence]
    return tag("ul", *items, class_="notes") if items else Markup("")


# Panels ---------------------------------------------------------------------------------------------------------------


def _panel(panel: Panel, drawn: Sequence[Panel], panels: Sequence[Panel]) -> Markup:
    chart = tag("div", data_chart=drawn.index(panel)) if panel.axes else tag("p", "No run has a result yet.")
    unit = f" [{panel.goal.unit}]" if panel.goal.unit else ""
    interval = interval_name([len(of.final) for of in panel.drawn])
    headings = [
        "Run",
        "Method",
        "n",
        f"Mean{unit}",
        f"{interval[0].upper()}{interval[1:]}{unit}",
        f"Median{unit}",
        f"Best{unit}",
        "Values",
        "Progress",
    ]
    rows = [_row(of, panel) for of in panel.drawn]
    if all(of.subject.label == of.entry.optimizer for of in panel.drawn):  # the column would repeat the labels
        headings, rows = [headings[0], *headings[2:]], [[row[0], *row[2:]] for row in rows]
    table = sortable_table(f"Final regrets: {panel.title}", headings, rows)
    only = [] if len(panels) < 2 else [f"This panel: space {panel.key.space}, {_shared(panel)}."]
    return joined([chart, tag("h3", f"Final {panel.goal.regret}"), table, _notes([*only, *panel.notes()])])


def _shared(panel: Panel) -> str:
    key = panel.key
    parts = [key.dataset, f"table {key.table}", key.bounds, f"{key.scale} scale" if key.scale else ""]
    return ", ".join(part for part in parts if part)


def _row(of: Drawn, panel: Panel) -> list[object]:
    final, goal = of.final, panel.goal
    row: list[object] = [of.subject.label, of.entry.optimizer, Cell(f"{len(final):,}", len(final))]
    if not len(final):
        row += [Cell(NO_VALUE)] * 4
    else:
        (found,) = summarise(final[:, None])
        low, high = found["low"], found["high"]
        interval = (
            Cell(f"{goal.number(low, 3)} to {goal.number(high, 3)}", high - low) if len(final) > 1 else Cell(NO_VALUE)
        )
        row += [_number(found["mean"], goal), interval, _number(found["median"], goal), _number(min(final), goal)]
    progress = of.entry.progress or ("finished" if of.repetitions else "no result yet")
    return [*row, of.source, progress]


def _number(value: float, goal: Goal) -> Cell:
    return Cell(goal.number(value, 3), f"{goal.scale * value:.9g}")


# Trainings and rankings -----------------------------------------------------------------------------------------------


def _trainings(trainings: Trainings, charts: Sequence[Mapping[str, Any]]) -> Markup:
    numbers = [number for number, chart in enumerate(charts) if chart["name"] == LEARNING]
    curves = [tag("div", data_chart=number) for number in numbers] or [tag("p", "No training is evaluated yet.")]
    return joined([*curves, tag("h3", "Accuracies"), trainings.table(), _notes(trainings.notes())])


def _rankings(found: Sequence[Ranked], most: int) -> Markup:
    parts = [
        joined([tag("h3", of.name), tag("div", data_scatter=number), _notes(of.notes(most))])
        for number, of in enumerate(found)
    ]
    table = [tag("h3", "Correlations"), correlation_table(found), _notes([TABLE_NOTE])]
    return joined([*parts, *table] if found else [tag("p", "No ranking has a result yet.")])


# Searches -------------------------------------------------------------------------------------------------------------


def _searches(subjects: Sequence[Subject], scoring: Scoring) -> list[dict[str, Any]]:
    """Return the data of all searches that have a result."""
    found = [(subject, run) for subject in subjects for run in subject.searches if run.lines]
    most = frames_per_search(len(found))
    return [
        searched(run, _search_label(subject, run), scoring.table_for(subject.entry) if subject.entry else None, most)
        for subject, run in found
    ]


def _search_label(subject: Subject, run: Any) -> str:
    return subject.label if subject.record is run else f"{subject.label}, seed {run.config['seed']}"


# What was run ---------------------------------------------------------------------------------------------------------


def _runs(subjects: Sequence[Subject]) -> Markup:
    headings = ("Run", "Kind", "Method", "Space", "Table", "Version", "Progress")
    rows = [
        [
            subject.label,
            subject.kind,
            str(subject.config.get("optimizer", NO_VALUE)),
            str(subject.config.get("space", NO_VALUE)),
            _values(record.config.get("table_id") for record in subject.records),
            _versions(subject).get("nasbench1shot1", NO_VALUE),
            subject.progress or "finished",
        ]
        for subject in subjects
    ]
    details = (_details(subject, number) for number, subject in enumerate(subjects))
    return joined([sortable_table("Runs", headings, rows), tag("h3", "Options and versions"), *details])


def _details(subject: Subject, number: int) -> Markup:
    options = definitions((name, _text(value)) for name, value in _options(subject).items() if value is not None)
    versions = _versions(subject)
    told = definitions(versions.items()) if versions else tag("p", "Not recorded.")
    columns = tag(
        "div",
        tag("div", tag("h3", "Options and data"), options),
        tag("div", tag("h3", "Environment"), told),
        class_="columns",
    )
    summary = tag("summary", tag("strong", subject.label), tag("span", str(subject.folder)))
    return tag("details", summary, columns, id=f"run-{number}")


def _options(subject: Subject) -> dict[str, Any]:
    """Return the recorded options of a run, with facts about its data; a group has the options of its first run."""
    if not subject.records:
        return dict(subject.config)
    found = {
        name: value
        for name, value in subject.records[0].search_config.items()
        if name != "seed" or subject.record is subject.records[0]
    }
    return {**found, "seeds": subject.config["seeds"]} if "seeds" in subject.config else found


def _versions(subject: Subject) -> dict[str, str]:
    """Return the recorded environments of the searches of a run: every value of each field."""
    known = []
    for record in subject.records:
        try:
            known.append(record.environment)
        except UserError:  # written after config.json; some programs' records lack it
            continue
    names = dict.fromkeys(name for environment in known for name in environment)
    found = {name: _values(of.get(name) for of in known) for name in names}
    return {name: text for name, text in found.items() if text != NO_VALUE}


def _values(values: Iterable[object]) -> str:
    """Return the different values other than None, in words."""
    return ", ".join(dict.fromkeys(_text(value) for value in values if value is not None)) or NO_VALUE


def _text(value: object) -> str:
    return typed(value) if isinstance(value, bool | str) else json.dumps(value, ensure_ascii=False)


# Commands -------------------------------------------------------------------------------------------------------------


def _commands(subjects: Sequence[Subject], command: str) -> Markup:
    known = [(subject, repeated(subject.record)) for subject in subjects]
    lines = list(dict.fromkeys(line for _, found in known for line in found.commands))  # rankings share their search
    notes = [f"{subject.label}: {found.note}" for subject, found in known if found.note]
    parts = [
        tag("p", f"These commands run everything again with the recorded options. {_FOLDERS}{_needed(subjects)}"),
        tag("pre", *map(_line, lines)),
    ]
    last = [tag("p", "This command writes the report again."), tag("pre", _line(command))]
    return joined([*(parts if lines else []), *last, _notes(notes)])


def _needed(subjects: Sequence[Subject]) -> str:
    """Return a sentence about the tables that do not come with a benchmark; empty if there are none."""
    used = [str(record.config.get("table")) for subject in subjects for record in subject.records]
    names = [name for name in dict.fromkeys(used) if name not in ("None", *bundled_tables())]
    return f" They need tables that do not come with this package: {in_words(names)}." if names else ""


def _line(command: str) -> Markup:
    """Return a command that is broken only between words, not after their hyphens."""
    return tag("code", joined(part for word in command.split(" ") for part in (tag("span", word), " ")), "\n")
