"""Reproduction of the papers' figures and tables, each with one command: runs, CSV files and picture."""
