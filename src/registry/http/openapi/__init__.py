"""The OpenAPI document: what the framework derives from the handlers, completed for people and generated clients."""
