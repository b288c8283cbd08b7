"""Read a config: document (YAML with lines), values and parts (what keys take), schema (keys and rules), load."""
