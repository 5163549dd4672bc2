"""The protocols of other programs: routers that translate their requests into the use cases of `services`."""
