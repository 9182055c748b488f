"""Trajectories from elsewhere: searches that other programs recorded, as black-box studies on a table."""
