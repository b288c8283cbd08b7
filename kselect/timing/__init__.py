"""The paper's timing table: the seconds of a selection by the paper's algorithm, by ours, as published."""
