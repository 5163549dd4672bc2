"""A read-only git view of the skills: each skill is a repository, and so are the marketplaces of all and of a scope.

Smart HTTP of git, version 0 of its protocol (gitprotocol-http, gitprotocol-pack). A repository has one commit, which
follows from its files alone. A change gives another commit without a parent.
"""

from registry.protocols.git.routes import ROUTES

GIT = ROUTES
