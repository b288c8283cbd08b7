"""Stage 1, YAML -> Experiment: document (lines), schema (typed), rules, load."""
