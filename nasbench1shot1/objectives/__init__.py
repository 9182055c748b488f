"""Objectives that outside optimizers call, on the simulated clock and recorded as black-box studies."""
