"""Reader of stephens files."""
