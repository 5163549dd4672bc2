"""Tells others what happened: webhooks."""
