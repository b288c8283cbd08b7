"""Arrays, losses, folds and random streams that several parts share."""
