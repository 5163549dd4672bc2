"""The commands of administrators, `skill-registry admin`."""
