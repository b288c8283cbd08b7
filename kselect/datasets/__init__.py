"""Data sets: where they come from, how they are read, scaled and split."""
