"""Trusted publishing by OpenID Connect: a build server proves which workflow it runs, and needs no secret."""
