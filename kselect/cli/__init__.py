"""The command line: one module per command; each parses its flags, calls one stage and prints."""
