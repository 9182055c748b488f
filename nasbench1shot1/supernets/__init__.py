"""The parts of supernets: the cells of each family of search spaces, skeletons, and presets."""
