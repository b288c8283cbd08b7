"""The commands: each parses, calls one stage, prints; loaded only when it is typed."""
