"""Stage 6, numbers -> files: CSV, LaTeX, Markdown, figures, HTML. Formats, computes nothing."""
