"""The paper this package follows: its data, its published values, and how ours compare."""
