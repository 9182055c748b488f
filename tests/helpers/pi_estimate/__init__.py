"""A seventh kind of run, for tests: it estimates π from random points, batch by batch.

The folder has the five things that a kind gives: options, `begin`, the loop, `summarise`, and a picture.
"""
