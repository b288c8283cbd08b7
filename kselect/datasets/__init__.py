"""Data sets: where their files are, and how they are read, split, encoded and scaled."""
