"""Plans: what runs need before they start, as frames, screens and pages.

`plan` is the record, with the sentences below it, and `screen` prints it. `experiments.plans` makes the plan of a
figure or a command (`nb.plan`), and `experiments.all_plans` makes the plans of all figures.
"""
