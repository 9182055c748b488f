"""Questions asked of many runs: figures and tables, one file per question."""
