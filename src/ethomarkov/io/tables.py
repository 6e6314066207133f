"""Reader of tables files."""
