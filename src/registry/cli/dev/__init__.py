"""The commands of those who build on a registry, `skill-registry dev`."""
