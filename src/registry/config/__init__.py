"""Every setting: its type, its default, and where its value is read from."""
