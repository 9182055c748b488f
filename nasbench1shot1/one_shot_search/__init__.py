"""One-shot searches: train the supernet and Λ, and look up the preferred architecture after every epoch."""
