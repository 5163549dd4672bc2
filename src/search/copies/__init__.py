"""Near-copies: how alike the texts of two skills are, and which skills are copies of which."""
