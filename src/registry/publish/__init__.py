"""Receives packages, validates them in the background, publishes versions, and yanks or revokes them."""
