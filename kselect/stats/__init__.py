"""Stage 5, Records -> numbers: pure functions, one test or summary per file. Reports compute nothing."""
