"""Who may do what: tokens, users, API keys, roles, and the gate every request of the registry profile passes."""
