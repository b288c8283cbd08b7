"""kselect: choosing a kernel machine's kernel and ridge, by the criteria of five papers."""

__version__ = "0.1.0"
