"""The size of supernets and batches with which an epoch of a search has two steps and takes a fraction of a second.

This module imports nothing, so processes that are started for a test can import it quickly.
"""

TINY_SIZE = {"channels": 2, "cells": 1, "images_per_half": 40, "image_side": 8, "batch_size": 20}
