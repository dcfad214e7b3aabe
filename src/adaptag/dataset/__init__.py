"""Sentences → one encoded dataset: flat arrays that training runs on."""
