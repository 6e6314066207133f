"""Reader of tierpsy files."""
