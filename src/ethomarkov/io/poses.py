"""Reader of poses files."""
