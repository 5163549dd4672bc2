"""Publishing: packages received, judged in the background, stored for good, and taken out of sight again."""
