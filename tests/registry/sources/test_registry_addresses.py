"""The addresses that the documents of a registry name, below whatever path the registry is served."""

import pytest

from registry.sources.registry_documents import absolute


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://a.example", "/packages/a/b/1.0.0.zip", "https://a.example/packages/a/b/1.0.0.zip"),
        ("https://a.example/hub", "/packages/a/b/1.0.0.zip", "https://a.example/hub/packages/a/b/1.0.0.zip"),
        ("https://a.example/scopes/a", "/scopes/a/packages/x.zip", "https://a.example/scopes/a/packages/x.zip"),
        ("https://a.example/hub/scopes/a", "/scopes/a/packages/x.zip", "https://a.example/hub/scopes/a/packages/x.zip"),
        ("https://a.example/scopes/a", "/scopes/ab/x.zip", "https://a.example/scopes/a/scopes/ab/x.zip"),
        ("https://a.example", "//b.example/x.zip", None),
        ("https://a.example", None, None),
    ],
)
def test_a_path_is_one_of_the_service(base: str, path: str | None, url: str | None) -> None:
    assert absolute(base, path) == url
