"""What moves the weights: one-shot optimizers, one file per method, and what several methods share.

Methods: darts (first and second order), gdas, pc_darts, snas, random_ws, enas. Shared by those whose Λ follows a
gradient: gradient (their base), relaxation (Λ to mixing weights), updates (first and second order). By those that
sample: sampling (their base); ENAS alone has enas_controller.
"""
