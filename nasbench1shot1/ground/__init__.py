"""What files and screens stand on: paths, folders that change places, standard output, a bar for downloads."""
