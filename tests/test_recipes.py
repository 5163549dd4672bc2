"""The recipes of docs/recipes.md: each is applied to a copy of the sources as it is written, and does what it says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.recipes import Recipe, recipes

ROOT = Path(__file__).parents[1]
COPIED = ("constraints", "docs", "examples", "src", "tests", "ui")
CHANGES = ["A finding rule", "A route", "A search filter", "A skill field", "A source type"]
RECIPES = recipes(ROOT / "docs/recipes.md")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Copy the sources."""
    copy = tmp_path / "sources"
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def test_each_change_of_a_newcomer_has_a_recipe_of_few_steps() -> None:
    assert [recipe.title for recipe in RECIPES] == CHANGES
    assert all(len(recipe.steps) <= 8 for recipe in RECIPES)


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.title for recipe in RECIPES])
def test_a_recipe_works_as_it_is_written(recipe: Recipe, sources: Path) -> None:
    for step in recipe.steps:
        step.apply(sources)
    environment = os.environ | {"PYTHONPATH": str(sources / "src")}
    checks = [
        ["pytest", "-q", "-p", "no:cacheprovider", *recipe.tests],
        ["ruff", "check", "--quiet", "--no-cache", "src", "tests"],
        ["ruff", "format", "--quiet", "--no-cache", "--check", "src", "tests"],
    ]
    for check in checks:
        command = [sys.executable, "-m", *check]
        done = subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
