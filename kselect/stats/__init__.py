"""Stage 5, Records -> Comparison: pure functions, one test a file. Reports compute nothing."""
