"""The Model Context Protocol: tools that find, read and install skills, and the skills extension."""
