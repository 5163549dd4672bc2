"""Webhooks: notifications of events to external URLs."""
