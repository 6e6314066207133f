"""Reader of nwb files."""
