"""Results drawn on matplotlib axes; nothing here opens a window."""
