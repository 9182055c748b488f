"""What moves the weights: one-shot optimizers, one file per method, and what several methods share.

Methods: darts (first and second order), gdas, pc_darts, snas, random_ws, enas, setn. Shared by those that learn Λ: adam
(their base). By those that train the weights under a relaxation of Λ: gradient (their base), relaxation (Λ to mixing
weights), updates (first and second order). By those that score candidates: sampling (the selection, and the base of
those that draw candidates). ENAS alone has enas_controller.
"""
