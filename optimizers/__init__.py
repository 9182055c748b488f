"""One-shot optimizers, one module per method, and their base classes.

Base classes: adam (methods that learn Λ with Adam), gradient (methods that train the weights under a relaxation of Λ),
levels (GAEA and FairDARTS), sampling (Random WS and ENAS, and the selection of candidates) and widths (methods for
widths). enas_controller is the controller of ENAS. The parts from which methods are combined are in components,
black-box optimizers in black_box.
"""
