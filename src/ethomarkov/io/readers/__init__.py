"""Readers and writers, one module for each format or for what several of them share."""
