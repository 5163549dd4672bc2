"""Queries in other languages than English: vectors of a multilingual encoder, in the space of the tuned model."""
