"""What Jupyter notebooks show: records with their picture, figures, and the progress of a call in one output."""
