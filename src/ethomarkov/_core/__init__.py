"""Arrays and their bookkeeping: gaps, sampling, randomness, intervals. Knows nothing of animals."""
