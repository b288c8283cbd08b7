"""How a table in a file becomes columns: its text, its rows, and what each column is."""
