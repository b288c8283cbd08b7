"""How a learner's kernel and ridge are looked for."""
