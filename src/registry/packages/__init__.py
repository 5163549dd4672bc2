"""Skill packages of strangers: read into a staged folder or refused, and written.

A zip and a folder come in by two doors (`archive`, `source_folder`) and meet one set of rules (`paths`, `tree`,
`contents`, `statement`). Nothing an archive says of itself is believed: it is compared with what is read.
"""
