"""Runs criteria on submissions: the engine process, its client, and the diagnosis of wrong answers."""
