"""Run the trials of a plan in worker processes, and estimate how long that takes."""
