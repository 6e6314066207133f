"""Defaults of analyses, in one place without imports: stages compute with them, and the help of commands shows them."""

N_SHUFFLES = 100
"""Shuffled state sequences behind a noise floor."""
MOST_RUNS = 1000
"""Simulated runs of every animal or state, as published; the command line makes fewer where they take long."""
RUN_MINUTES = 35.0
"""Of every run, as published."""
VALIDATION_RUNS = 200
"""Runs of every animal that it is compared with."""
ENTRY_WALKS = 200
"""Walks in which entries into a state are counted."""
DRAG_WINDOW = 100.0
"""Seconds of path that are compared at once to fit the drag ratio."""
FORAGING_RUNS = 1000
FORAGING_SECONDS = 100.0
BODY_WIDTH = 0.05
"""In body lengths."""
MOVIE_SECONDS = 60.0
N_REPEATS = 50
"""Repeats of cross-validation, as published."""
N_HELD_OUT = 5
"""Repeats of a cross-validation that learns all states again from what is not held out."""
WORM_SECONDS = 2100.0
"""Of one published recording."""
PAPER_FRAMES = 12 * 33_600
"""Of the published recordings: twelve worms of 35 minutes at 16 Hz."""
BENCH_WORMS = (2, 4, 8)
"""Never a single worm: a core that works alone is faster than two at once, which would look like growth."""
