"""Parts from which one-shot optimizers are combined: relaxations of Λ, gradients, loss terms, rules and decisions."""
