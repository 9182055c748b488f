"""A report of runs as one HTML file that opens without a network (`nb1shot1 report --html`).

- `subjects`: the runs of a report, of any kind, with their labels and their progress.
- `panels`: runs that may be compared, as curves and a table of results.
- `searched`: the preferred cells of searches, and Λ, over the epochs.
- `repeating`: the commands that repeat runs.
- `page`: the HTML. `page.html` is the frame, and `page.css` its look. `charts.js`, `cells.js`, `base.js` and `page.js`
  draw curves and cells from the data that the page embeds, and sort its tables.
- `writing`: `nb.write_report_page`, also for runs in progress.
"""
