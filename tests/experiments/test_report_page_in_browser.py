"""The page of a report in a real browser: offline, at two widths, by pointer and by keyboard alone."""

import re
from pathlib import Path

import compared_runs as runs
import numpy as np
import pytest
import tiny_training
from browser import DESKTOP, PHONE, opened
from quick_ranking import tiny_ranking

import nasbench1shot1 as nb
from nasbench1shot1.experiments.comparison.comparing import compare_runs
from nasbench1shot1.experiments.report_page.searched import drawings
from nasbench1shot1.ground.files import write_json

HOSTILE = '<img src=x onerror=alert(1)></script>"&'
RANKS = ((9, 5, 2, 2, 1), (20, 8, 8, 3, 3), (30, 30, 12, 4, 0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group of three searches with Λ, one unfinished search, and a black-box study with a hostile label."""
    base = tmp_path_factory.mktemp("report")
    for seed, run in enumerate(runs.group(base / "darts", RANKS)):
        runs.with_parameters(run, seed)
    runs.with_parameters(runs.search(base / "gdas", (25, 14, 6), optimizer="gdas", finished=False))
    runs.black_box(base / "random", repeats=4)
    return base


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    written = [folder / name for name in ("darts", "gdas", "random")]
    return nb.write_report_page(written, folder / "report.html", labels=["DARTS", "GDAS", HOSTILE])


def legend(page) -> dict[str, tuple[str, str]]:
    """The value and the band of each curve that the legend shows."""
    rows = page.eval_on_selector_all(
        ".legend tbody tr",
        "of => of.map(row => [...row.querySelectorAll('th, td span, td small')].map(e => e.innerText))",
    )
    return {name.strip(): (value, band) for name, value, band in rows}


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page, wanted: str, most: int = 60) -> None:
    """Press Tab until an element that matches a selector has the focus; it must then be marked visibly."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({wanted!r})"):
            outline = page.evaluate(
                "(e => getComputedStyle(e.matches('.switch input') ? e.parentElement : e).outlineStyle)"
                "(document.activeElement)"
            )
            assert outline == "solid", f"the focus on {wanted} is invisible"
            return
    raise AssertionError(f"Tab does not reach {wanted}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_the_page_fits_is_legible_and_asks_for_nothing(browser, file, size, scheme):
    with opened(browser, file, size, scheme) as page:
        assert page.locator("h1").inner_text() == "3 runs on s1"
        assert page.locator(".plot svg path.curve").count() >= 3
        for details in page.locator("details summary").all():
            details.click()
        assert not page.is_too_wide()
        assert not page.too_pale()
        assert page.requests == [file.as_uri()]


def test_text_that_is_too_pale_is_found(browser, file):
    with opened(browser, file) as page:
        page.evaluate("document.querySelector('h1').style.color = '#949494'")  # 3.03 : 1
        assert [text.partition(":")[0] for text in page.too_pale()] == ["3 runs on s1"]
        page.evaluate("document.querySelector('.cell .on-node').style.fill = '#888888'")
        assert len(page.too_pale()) == 2


def test_the_browser_refuses_other_scripts_and_the_network(browser, file):
    with opened(browser, file) as page:
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
        assert page.evaluate("window.ran") is None
        said = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'loaded', error => error.message)")
        assert said != "loaded"
        assert page.evaluate("document.querySelectorAll('img').length") == 0  # the label is text, not HTML
        assert len(page.problems) >= 2 and all("Content Security Policy" in each for each in page.problems)
        page.problems.clear()
        page.requests[:] = page.requests[:1]


def test_values_under_the_pointer_are_those_of_the_runs(browser, file, folder):
    found = compare_runs([folder / "darts", folder / "gdas"], ["DARTS", "GDAS"])
    with opened(browser, file) as page:
        page.get_by_label("Epochs", exact=True).check()
        shown = legend(page)
        assert shown["DARTS"][0] == f"{100 * found.contenders[0].final.mean():.3f}"
        assert shown[HOSTILE] == ("–", "")  # black-box studies have no epochs
        box = page.locator(".plot svg rect.frame").bounding_box()
        for epoch in (1, 2, 3):  # of 0 to 4
            page.mouse.move(box["x"] + box["width"] * (epoch + 0.2) / 4, box["y"] + 40)
            assert page.locator("[data-of=value]").inner_text() == f"epoch {epoch} [%]"
            curve = {label: of.frame.set_index("at") for label, of in found.curves.items()}
            mean, low, high = (100 * curve["DARTS"].loc[epoch, name] for name in ("mean", "low", "high"))
            assert legend(page)["DARTS"] == (f"{mean:.3f}", f"{low:.3f} to {high:.3f}")
            expected = f"{100 * curve['GDAS'].loc[epoch, 'mean']:.3f}" if epoch < 3 else "–"  # it ends at epoch 2
            assert legend(page)["GDAS"] == (expected, "")
        page.mouse.move(0, 0)
        assert legend(page) == shown


def test_a_horizontal_line_is_found_through_the_legend(browser, file):
    with opened(browser, file) as page:
        page.locator(".legend tbody tr", has_text="mean over the space").locator("input").check()
        assert page.locator(".plot .level.near").count() == 0
        page.locator(".legend tbody tr", has_text="mean over the space").hover()
        assert page.locator(".plot .level.near[stroke-dasharray]").count() == 1


def test_an_early_stopped_search_holds_the_result_that_it_went_back_to(browser, tmp_path):
    stopped = runs.search(tmp_path / "stopped", (20, 9, 4))
    write_json(stopped.folder / "summary.json", {**stopped.summary, "final_epoch": 1})
    longer = runs.search(tmp_path / "longer", (25, 14, 6, 3, 1), optimizer="gdas")
    file = nb.write_report_page([stopped.folder, longer.folder], tmp_path / "page.html", labels=["stopped", "longer"])
    result, last = (f"{100 * stopped.lines[epoch]['test_regret']:.3f}" for epoch in (1, 2))
    with opened(browser, file) as page:
        page.get_by_label("Epochs", exact=True).check()
        assert legend(page)["stopped"] == (result, "") != (last, "")
        box = page.locator(".plot svg rect.frame").bounding_box()
        for epoch, expected in ((2, last), (3, result)):
            page.mouse.move(box["x"] + box["width"] * (epoch + 0.1) / 4, box["y"] + 40)
            assert legend(page)["stopped"] == (expected, "")
        heights = page.evaluate(
            "[document.querySelector('path.held').getAttribute('d'), ...[...document.querySelectorAll('path.curve')]"
            ".map(of => of.getAttribute('d'))]"
        )
        held = float(re.match(r"M[\d.]+ ([\d.]+)H", heights[0])[1])
        points = re.findall(r"[ML][\d.]+ ([\d.]+)", heights[1])
        assert held == pytest.approx(float(points[1]), abs=0.1) and held != pytest.approx(float(points[2]), abs=1)
        assert "its result is the architecture of epoch 1." in page.locator("[data-of=notes]").inner_text()


def test_switches_change_the_axes_and_the_bands(browser, file):
    with opened(browser, file) as page:
        ticks = lambda: page.locator(".plot svg text").all_text_contents()  # noqa: E731
        curves, bands = page.locator(".plot path.curve:not(.held)"), page.locator(".plot path.band")
        assert page.get_by_label("Simulated time").is_checked()  # all runs have it
        assert "simulated time [s]" in ticks() and (curves.count(), bands.count()) == (3, 2)
        assert page.get_by_label("Logarithmic").first.is_checked()
        logarithmic = ticks()
        page.get_by_label("Linear").nth(1).check()
        assert "0" in ticks() and ticks() != logarithmic
        page.get_by_label("Trainings").check()
        assert "number of trainings" in ticks() and (curves.count(), bands.count()) == (1, 1)
        page.get_by_label("Epochs", exact=True).check()
        assert "epochs" in ticks() and (curves.count(), bands.count()) == (2, 1)
        assert ticks()[:5] == ["0", "1", "2", "3", "4"]
        page.get_by_label("Bands").uncheck()
        assert bands.count() == 0
        page.get_by_role("checkbox", name="GDAS").uncheck()
        assert curves.count() == 1
        assert "line-through" in page.eval_on_selector(
            "tr.hidden-curve span", "e => getComputedStyle(e).textDecoration"
        )


def test_a_chart_without_curves_keeps_its_axes(browser, file):
    with opened(browser, file) as page:
        boxes = page.locator(".legend tbody input")
        assert page.get_by_label("Logarithmic").first.is_checked()  # of the horizontal axis
        for place in range(boxes.count()):
            boxes.nth(place).uncheck()
        assert page.locator(".plot path.curve").count() == 0
        ticks = page.locator(".plot svg text").all_text_contents()
        assert "simulated time [s]" in ticks and len(ticks) > 4
        page.get_by_label("Linear").first.check()
        boxes.first.check()
        assert page.locator(".plot path.curve").count() > 0


def test_a_search_that_has_only_begun_is_readable_on_both_axes(browser, tmp_path):
    begun = runs.search(tmp_path / "begun", (20,), finished=False)  # epoch 0 alone, at search time 0
    with opened(browser, nb.write_report_page(begun.folder, tmp_path / "page.html")) as page:
        page.get_by_label("Epochs", exact=True).check()
        page.locator(".plot svg").first.focus()
        for key in ("Home", "ArrowRight", "End"):
            press(page, key)
            assert page.locator("[data-of=value]").first.inner_text() == "epoch 0 [%]"
        page.get_by_label("Logarithmic").first.check()
        assert not any(re.search("NaN|Infinity", path) for path in drawn_paths(page))
        assert len(page.locator(".plot svg text").all_text_contents()) > 2


def drawn_paths(page) -> list[str]:
    """The attribute `d` of every path of the charts."""
    return page.eval_on_selector_all(".plot svg path", "of => of.map(path => path.getAttribute('d'))")


def test_ticks_are_whole_epochs_and_reach_both_ends_of_a_logarithmic_axis(browser, file):
    with opened(browser, file) as page:
        ticks = lambda *given: page.evaluate("given => ticks(...given)", list(given))  # noqa: E731
        assert ticks(0, 3, 7, False, 1) == [0, 1, 2, 3] and ticks(0, 50, 7, False, 1) == [0, 10, 20, 30, 40, 50]
        assert ticks(0, 3, 7, False) == [0, 0.5, 1, 1.5, 2, 2.5, 3]
        assert ticks(1_198, 1e7, 12, True)[:4] == [2_000, 5_000, 10_000, 20_000]
        assert ticks(1_198, 1e7, 10, True) == [3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7]
        assert ticks(1_198, 1e7, 5, True) == [1e4, 1e5, 1e6, 1e7]


def test_tables_sort_by_number_and_by_text(browser, file):
    with opened(browser, file) as page:
        table = page.locator("section").first.locator("table.sortable")
        column = lambda number: table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()  # noqa: E731
        before = column(1)
        assert before == ["DARTS", "GDAS", HOSTILE]
        headings = [text.partition(" [")[0] for text in table.locator("thead th").all_inner_texts()]
        mean, interval = headings.index("Mean") + 1, headings.index("Range") + 1
        table.get_by_role("button", name="Mean").click()
        assert [float(of) for of in column(mean)] == sorted(float(of) for of in column(mean))
        assert table.locator("th[aria-sort=ascending]").count() == 1
        table.get_by_role("button", name="Mean").click()
        assert [float(of) for of in column(mean)] == sorted((float(of) for of in column(mean)), reverse=True)
        table.get_by_role("button", name="Range").click()
        assert column(interval)[-1] == "–" and column(headings.index("n") + 1)[-1] == "1"  # one run has no interval
        table.get_by_role("button", name="Run").focus()
        press(page, "Enter")
        assert column(1) == [HOSTILE, "DARTS", "GDAS"]


def test_the_cell_and_the_weights_of_each_epoch_are_those_of_the_search(browser, file, folder):
    group = nb.load_run(folder / "darts")
    with opened(browser, file) as page:
        chooser = page.locator("select")
        names = [f"DARTS, seed {seed}" for seed in range(3)]
        assert chooser.locator("option").all_text_contents() == [*names, "GDAS"]
        chooser.select_option("DARTS, seed 1")
        run, slider = group[1], page.get_by_role("slider", name="Epoch")
        assert slider.input_value() == "4" and page.get_by_role("button", name="Next epoch").is_disabled()
        slider.focus()
        press(page, "Home")
        for epoch in range(5):
            line, weights = run.lines[epoch], run.mixing_weights(epoch)
            assert page.locator("output").inner_text() == f"epoch {epoch} of 4"
            assert page.locator("[data-of=text]").inner_text() == line["architecture"]
            regrets = page.locator("[data-of=regrets] td").all_inner_texts()
            assert regrets[0] == f"{100 * line['test_regret']:.3f} %, predicted"
            assert regrets[1] == f"{100 * line['validation_regret']:.3f} %, predicted"
            nodes = page.locator(".cell text.on-node").all_text_contents()
            graph = run.architectures[epoch].drawn_graph(weights)
            assert nodes == [of["label"] for of in graph.nodes.values()]
            edges = page.locator(".cell path.edge").count()
            assert edges == graph.number_of_edges()
            shown = page.locator("[data-of=choices] td").all_inner_texts()
            assert sorted(shown) == sorted(f"{of:.3f}" for value in weights.values() for of in np.ravel(value).tolist())
            press(page, "ArrowRight")
        page.get_by_role("button", name="Previous change of the cell").click()
        assert page.locator("output").inner_text() == "epoch 3 of 4"  # ranks 20, 8, 8, 3, 3
        page.get_by_role("button", name="Previous change of the cell").click()
        assert page.locator("output").inner_text() == "epoch 1 of 4"
        chooser.select_option("GDAS")
        assert page.locator("output").inner_text() == "epoch 2 of 2"


def weights_of(space: nb.OneShotSpace, excluded: tuple[int, int]) -> dict[str, np.ndarray]:
    """Random mixing weights, one of which is excluded."""
    rng = np.random.default_rng(0)
    found = {key: rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for key, shape in space.mixing_shapes().items()}
    found[space.operation_key][excluded] = np.nan
    return found


def test_operations_on_edges_and_widths_are_drawn(browser, file):
    spaces = [nb.search_space(name) for name in ("nb201", "nats-size")]
    architectures = [spaces[0][6111], spaces[1].sample(np.random.default_rng(0))]
    excluded = (0, architectures[0].operations[0])
    weights = [weights_of(spaces[0], excluded), weights_of(spaces[1], (0, 0))]
    with opened(browser, file) as page:
        shown = []
        for arch, of in zip(architectures, weights, strict=True):
            for own in (of, None):
                drawn = drawings([arch], [own])
                page.evaluate("d => part(document, 'cell').replaceChildren(drawCell(d, d.frames[0]))", drawn)
                shown.append(page.locator(".cell text").all_text_contents())
                assert not page.too_pale()
        graph = architectures[0].drawn_graph(weights[0])
        labels = [line for *_, label in graph.edges(data="label") for line in label.split("\n")]
        assert sorted(shown[0]) == sorted([*labels, "input", "1", "2", "output"])
        assert "nor_conv_3x3" in shown[1] and not any("." in text for text in shown[1])
        bars = architectures[1].drawn_bars(weights[1])
        chosen = [row[bars.candidates.index(value)] for row, value in zip(bars.weights, bars.values, strict=True)]
        expected = [f"{value} ({weight:.2f})" for value, weight in zip(bars.values, chosen, strict=True)]
        assert shown[2][0::2] == list(bars.names) and shown[2][1::2] == expected
        assert shown[3][1::2] == list(map(str, bars.values))
        drawn = drawings(architectures[:1], weights[:1])
        page.evaluate("d => part(document, 'cell').replaceChildren(drawCell(d, d.frames[0]))", drawn)
        assert page.locator(".cell .edge[stroke-dasharray]").count() == 1  # the excluded edge
        assert page.locator(".cell .decided").count() == 0
        is_other = np.arange(weights[0][spaces[0].operation_key].shape[-1]) != architectures[0].operations[1]
        weights[0][spaces[0].operation_key][1, is_other] = np.nan
        for arch, of, wanted in zip(architectures, weights, (".behind.decided", ".hatch"), strict=True):
            page.evaluate(
                "d => part(document, 'cell').replaceChildren(drawCell(d, d.frames[0]))", drawings([arch], [of])
            )
            assert page.locator(f".cell {wanted}").count() == 1  # the decided edge; the excluded size


def test_everything_works_with_the_keyboard_alone(browser, file):
    with opened(browser, file) as page:
        tab_to(page, ".skip")
        tab_to(page, ".switch input")
        press(page, "ArrowRight")
        assert not page.get_by_label("Simulated time").is_checked()
        press(page, "ArrowLeft")
        tab_to(page, ".plot svg")
        before = legend(page)
        press(page, "Home")
        assert re.fullmatch(r"[\d.,]+ s \[%\]", page.locator("[data-of=value]").inner_text())
        assert legend(page) != before and page.locator(".plot .cursor").count() == 1
        spoken = page.locator("[data-of=live]").inner_text()
        assert "DARTS" in spoken
        press(page, "ArrowRight", "PageDown")
        assert page.locator("[data-of=live]").inner_text() != spoken
        press(page, "Escape")
        assert legend(page) == before
        tab_to(page, ".legend input")
        press(page, "Space")
        assert page.locator("tr.hidden-curve").count() == 1
        tab_to(page, "button.sort")
        press(page, "Enter", "Enter")
        assert page.locator("th[aria-sort=descending]").count() == 1
        tab_to(page, "select")
        tab_to(page, "input[type=range]")
        press(page, "ArrowLeft")
        assert page.locator("output").inner_text() == "epoch 3 of 4"
        tab_to(page, "summary")
        press(page, "Enter")
        assert page.get_by_text("Environment").first.is_visible()


def test_tables_and_commands_are_there_without_scripts_and_on_paper(browser, file):
    with opened(browser, file, java_script_enabled=False) as page:
        assert page.locator("noscript p").is_visible()
        assert page.get_by_role("row", name="GDAS").first.is_visible()
        assert page.get_by_text("nb1shot1 search --optimizer gdas").is_visible()
    with opened(browser, file, scheme="dark") as page:
        printed = page.pdf()
        assert printed.startswith(b"%PDF") and len(printed) > 20_000
        page.emulate_media(media="print")
        assert page.eval_on_selector("body", "e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator("nav").is_visible() and page.locator("details[open]").count() == 3


def test_a_watched_page_loads_itself_again_and_keeps_what_was_chosen(browser, folder, monkeypatch):
    stopped, file = [], folder / "watched.html"

    def interrupt(_: float) -> None:
        stopped.append(file.read_text())
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    nb.write_report_page(folder / "gdas", file, watch=3_600, report=lambda _: None)
    (watched,), final = stopped, file.read_text()
    file.write_text(watched)
    with opened(browser, file) as page:
        page.clock.install()
        page.reload()
        page.get_by_label("Search time").check()
        page.get_by_role("slider", name="Epoch").focus()
        press(page, "Home")
        page.evaluate("window.isOld = true")
        page.clock.fast_forward(3_000_000)  # the clock also runs by itself, so there are ten minutes left
        assert page.evaluate("window.isOld")
        with page.expect_navigation():
            page.clock.fast_forward(700_000)
        assert page.evaluate("window.isOld") is None
        assert page.get_by_label("Search time").is_checked()
        assert page.locator("output").inner_text() == "epoch 0 of 2"
        assert page.evaluate("document.activeElement.type") == "range"
        page.get_by_label("Reload automatically").uncheck()
        page.evaluate("window.isOld = true")
        page.clock.fast_forward(7_200_000)
        assert page.evaluate("window.isOld")
        file.write_text(final)
        page.reload()
        assert page.locator("#reload").count() == 0  # the last page does not load itself again


def test_rankings_and_trainings_are_shown_and_read(browser, tmp_path):
    ranking = tiny_ranking(tmp_path / "run")
    images = tiny_training.write_images(tmp_path / "images.npz")
    training = tiny_training.train(tmp_path / "trained", images, epochs=1)
    marked = str(ranking.space[int(ranking.scores(2).numbers[0])])
    file = nb.write_report_page([ranking, training], tmp_path / "report.html", mark=marked)
    scores = ranking.scores(2)
    order = np.lexsort((true_errors(ranking, scores.numbers), scores.errors))
    for size in (PHONE, DESKTOP):
        with opened(browser, file, size) as page:
            scatter, curves = page.locator("#rankings"), page.locator("#trainings")
            assert scatter.locator(".plot circle.dot").count() == len(scores.numbers)
            assert scatter.locator(".plot path.mark").count() == 1
            scatter.locator(".plot svg").focus()
            facts = scatter.locator(".readout .facts dd")
            for place, at in enumerate(order[:3]):
                press(page, "Home" if place == 0 else "ArrowRight")
                number, predicted, true = facts.all_inner_texts()
                assert number == f"{scores.numbers[at]:,} of s1" and predicted == f"{100 * scores.errors[at]:.2f} %"
                assert re.fullmatch(r"\d+\.\d\d %, (measured|predicted)", true)
            assert number in scatter.locator("[data-of=live]").inner_text()
            box = scatter.locator(".plot circle.ring").bounding_box()
            press(page, "Escape")
            assert scatter.locator(".plot circle.ring").count() == 0
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            assert facts.all_inner_texts()[1:] == [predicted, true]  # the architecture under the pointer
            before = scatter.locator("[data-of=correlation]").inner_text()
            scatter.get_by_label("One-shot loss").check()
            after = scatter.locator("[data-of=correlation]").inner_text()
            assert after.startswith("Spearman's ρ = ") and after != before
            shown = legend(page)
            assert shown["trained"][0] == f"{100 - 100 * training.final.test_accuracy:.2f}"
            curves.get_by_label("Validation").check()
            assert legend(page)["trained"][0] == f"{100 - 100 * training.final.validation_accuracy:.2f}"
            assert "validation error [%]" in curves.locator(".plot svg text").all_text_contents()
            assert not page.is_too_wide() and not page.too_pale() and page.requests == [file.as_uri()]


def true_errors(ranking, numbers) -> np.ndarray:
    return np.array([1 - nb.load_table().query(ranking.space[int(number)]).test_accuracy for number in numbers])
