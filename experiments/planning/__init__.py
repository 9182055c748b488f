"""Plans: what runs need before they start, as frames, screens and pages.

`plan` is the record, `notes` has the sentences below it, and `screen` prints it. `experiments.plans` makes plans of
figures and commands (`nb.plan`), and `experiments.all_plans` those of all figures.
"""
