"""Recording a search loop of one's own as a run that report, compare and load_run know."""
