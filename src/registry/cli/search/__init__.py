"""The results of a search: how they are shown, and what somebody made of them."""
