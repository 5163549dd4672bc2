"""The steps of installing commands."""
