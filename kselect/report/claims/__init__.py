"""The verdicts on the claims of papers and configs: rules, effects, and the evidence for each kind of claim."""
