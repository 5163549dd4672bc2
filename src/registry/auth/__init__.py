"""Authentication and authorization for the registry profile: tokens, users, API keys, rate limits and the audit log."""
