"""Stage 4, Records <-> results/: one file per job, written whole; gathering; the environment."""
