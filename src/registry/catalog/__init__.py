"""The system of record for skills: the store, the documents that search follows, and the skill backends."""
