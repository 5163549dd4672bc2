"""The system of record for skills: the store, the documents that search indexes, and the skill backends."""
