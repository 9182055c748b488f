"""The table of true performances: its columns in a folder, how rows are found, and what a query answers."""
