"""How a table is typeset: tidy CSV, Markdown, LaTeX; the page has its own templates."""
