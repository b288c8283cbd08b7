"""Timing of a whole selection: the paper's algorithm, ours, and the seconds that the paper printed."""
