"""The rows of a selection: how they weigh, and how they are held out."""
