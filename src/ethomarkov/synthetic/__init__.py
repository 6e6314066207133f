"""Recordings with known answers: a synthetic worm and classical model systems."""




__all__ = ["SyntheticWorms", "WormModel", "WormTruth", "double_well", "hopping_chain", "lorenz", "simulate_worms"]
