"""Analyses of one or many runs and of search spaces: figures and tables."""
