"""Store the jobs of an experiment, gather them in records.csv, and describe the environment."""
