"""Colours and line styles in regret figures."""

import pytest

from nasbench1shot1.display.colours import DATA_SETS, METHODS, curve_styles, data_set_styles
from nasbench1shot1.experiments.reproduction.figures.catalogue import FIGURES
from nasbench1shot1.experiments.reproduction.results.regrets import NEUTRAL, legend_styles, variant_styles

REGRETS = [name for name, figure in FIGURES.items() if figure.drawing == "regrets:RegretCurves"]


@pytest.mark.parametrize("name", ["figure2", "figure7", "figure8"])
def test_a_method_has_the_same_colour_in_every_figure(name):
    pairs, styles = FIGURES[name].full.pairs(), variant_styles(FIGURES[name])
    colours = {key: style["color"] for key, style in styles.items()}
    assert colours == {(panel.key, curve.key): METHODS[curve.options["optimizer"]] for panel, curve in pairs}
    assert {style["linestyle"] for style in styles.values()} == {"-"}


@pytest.mark.parametrize("name", ["figure9", "figure10", "figure11"])
def test_two_variants_of_a_method_share_its_colour_and_differ_in_line_style(name):
    pairs, styles = FIGURES[name].full.pairs(), variant_styles(FIGURES[name])
    for panel, curve in pairs:
        assert styles[panel.key, curve.key]["color"] == METHODS[panel.options["optimizer"]]
        assert (styles[panel.key, curve.key]["linestyle"] == "-") == (curve.key == "no-cutout")
    colours = {style["color"] for style in legend_styles(pairs, styles).values()}
    assert colours == {NEUTRAL if name == "figure9" else METHODS[pairs[0][0].options["optimizer"]]}


@pytest.mark.parametrize("name", ["figure4", "figure12", "figure13"])
def test_more_variants_have_the_same_ordered_colours_in_every_panel(name):
    pairs, styles = FIGURES[name].full.pairs(), variant_styles(FIGURES[name])
    legend = legend_styles(pairs, styles)
    assert len(legend) == len({style["color"] for style in legend.values()}) == 5
    assert len({str(style["linestyle"]) for style in legend.values()}) == 5
    assert all(styles[panel.key, curve.key] == legend[curve.label] for panel, curve in pairs)


@pytest.mark.parametrize("method", ["darts", "random", "mine"])
def test_many_curves_of_one_method_differ(method):
    looks = curve_styles([method, "gdas"] + 20 * [method])
    assert len({(look["color"], look["linestyle"], look["marker"]) for look in looks}) == 22
    assert len({look["color"] for look in [looks[0], *looks[2:11]]}) == 1


def test_many_data_sets_differ():
    looks = data_set_styles(["cifar100", *"abcdefgh", "cifar10"])
    assert len({(look["color"], look["linestyle"]) for look in looks}) == 10
    assert [looks[place]["color"] for place in (0, 9)] == [DATA_SETS["cifar100"], DATA_SETS["cifar10"]]


def test_no_regret_figure_has_more_than_five_curves_per_axis():
    assert max(len(panel.curves) for name in REGRETS for panel in FIGURES[name].full.panels) == 5
