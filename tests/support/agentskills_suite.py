"""The conformance suite of agentskills-testing against a tree: TREE_URL is its root, TREE_TOKEN a token or empty.

Run by pytest in a process of its own, because the suite needs a plugin that no other test uses.
"""

import os
from collections.abc import AsyncIterator

import pytest_asyncio
from agentskills_core import SkillProvider
from agentskills_http import HTTPStaticFileSkillProvider
from agentskills_testing import ProviderConformanceSuite


class TestTree(ProviderConformanceSuite):
    @pytest_asyncio.fixture
    async def provider(self) -> AsyncIterator[SkillProvider]:  # type: ignore[override]
        token = os.environ["TREE_TOKEN"]
        async with HTTPStaticFileSkillProvider(
            os.environ["TREE_URL"],
            headers={"Authorization": f"Bearer {token}"} if token else None,
            revalidate=True,
            resource_manifest=True,
            skill_manifest=True,
            file_manifest=True,
            allow_private_network=True,
        ) as made:
            yield made
