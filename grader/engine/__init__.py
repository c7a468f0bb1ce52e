"""Runs criteria on submissions: the engine's process, its client, and the diagnosis of what went wrong."""
