"""Reader of wcon files."""
