"""Stage 3, Trials -> Records: scheduler, workers, progress, and the trial."""
