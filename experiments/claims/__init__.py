"""Published claims beside what recorded runs and tables show, with a verdict on each."""
