"""Reader of wormpose files."""
