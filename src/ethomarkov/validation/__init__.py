"""Is the model right? Data against simulation."""
