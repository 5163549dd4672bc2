"""The results of a search: how they are shown, and what the user made of them."""
