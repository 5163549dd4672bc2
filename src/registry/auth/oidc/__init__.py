"""OpenID Connect: build servers prove which workflow they run, and people sign in at an issuer."""
