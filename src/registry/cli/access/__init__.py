"""The commands that say who may do what: sign-ins, users, API keys, and the tokens of users."""
