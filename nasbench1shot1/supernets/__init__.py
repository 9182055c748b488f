"""What supernets are made of: the cells of each family of search spaces, and the presets that they follow."""
