"""One-shot optimizers, one module per method, and code that several methods share.

Methods: darts (first and second order), gdas, pc_darts, snas, random_ws, enas and setn; for widths tas, fbnetv2 and
tunas. Shared modules: adam (base of the methods that learn Λ with Adam); gradient (base of the methods that train the
weights under a relaxation of Λ), relaxation (Λ to mixing weights) and updates (first and second order); sampling (base
of Random WS and ENAS, and the selection of candidates); widths (base of the methods for widths); moving_average (the
baseline of REINFORCE, also in black_box). Only ENAS uses enas_controller.
"""
