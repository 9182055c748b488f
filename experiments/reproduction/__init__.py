"""Reproduction of the papers' figures and tables, each with one command: runs, CSV files and picture.

- `figures`: the figures as data.
- `figure_jobs`: from a figure to its jobs. `kinds` has the kinds of their runs, and `observed` the values they need.
- `reproducing`: runs the jobs and draws the figure. `progress` shows how far they are.
- `costs` and `forecast`: the work and the time that the jobs need.
- `results`: what finished runs show.
- `records`: finished runs in one small file.
"""
