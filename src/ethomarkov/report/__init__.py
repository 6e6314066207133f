"""Views of a study: summary, tables, page, explorer, movies; layouts of panels, which estimate nothing."""
