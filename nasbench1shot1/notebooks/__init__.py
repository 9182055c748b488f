"""What Jupyter notebooks show: figures, and the progress of a call in one output."""
