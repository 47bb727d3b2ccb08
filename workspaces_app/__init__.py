"""Ground: the folders people open, who may use them, and the one door to their files."""
