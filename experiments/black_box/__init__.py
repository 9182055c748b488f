"""Analyses of finished black-box studies."""
