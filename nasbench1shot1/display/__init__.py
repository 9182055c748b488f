"""Pictures: curves with bands, figures with title, legend and caption, colours of methods, and drawn cells.

This is the only room that imports matplotlib. Other rooms import the names of its types from `display.axes` (under
`TYPE_CHECKING`) and draw with these files:

- `curves`: from runs to a curve. `Trace` is what one run recorded over epochs, evaluations or seconds. `pool` puts many
  traces on a common axis and returns a `Pooled` curve: mean or median, and a band. `draw_curve` draws it, and
  `describe_band` names the band in legends and captions. The default band is the 95 % confidence interval of the mean.
- `colours`: colour, line style and marker of every method, equal in all figures; rows of panels for many methods.
- `canvas`: `Canvas` is a new figure with panels, a title above, a legend and a caption below, in one of two styles:
  "screen" or "paper" (no title or caption inside the picture, width of a column, embedded fonts).
- `charts`: charts of analyses as data. `Panel` has marks such as `Series`, `Bars` or `Matrix`, and two axes, each an
  `Axis` of the file `axis`; `draw_panels` draws panels on given axes or in a new figure.
- `marked_networks`: the marks of networks that a caller names.
- `axes`: checks of given axes, logarithmic and whole-number axes, saving.
- `style`: what the styles set in matplotlib, only while a figure is drawn or saved. `options`: the options of commands
  that draw.
- `data`: the drawn values of a figure, for the CSV file beside it.
- `cells`: architectures as graphs, whose places `layout` computes, or as bars (`size_bars`).
- `artists`: subclasses of matplotlib's classes.

A figure of two searches of several seeds each:

    with Canvas(columns=2, style=style) as canvas:
        for axes, traces in zip(canvas.axes, searches):
            curve = pool(traces, spread=spread)
            draw_curve(axes, curve, label="darts", style=curve_styles(["darts"])[0])
        canvas.finish("Test regret", caption, legend=True, band=describe_band(spread, runs=5))
    save_figure(canvas.figure, path)
"""
