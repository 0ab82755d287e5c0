"""A codebase indexed and found through the gateway, by a real knowledge agent in another cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylk_ray.codebase.serving import CodebaseInUse, OwnerLost
from sylk_ray.errors import error_of
from sylk_ray.gateway.answers import status_of
from sylk_ray.runtime.placement import PlacementFailed
from tests.unit.codebase.repository import write_repository


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(write_repository(tmp_path / "jar"))


async def test_a_codebase_is_indexed_and_found(http, root):
    indexed = await http.post("/codebase", json={"type": "Index", "root": root})
    found = await http.post("/codebase", json={"type": "Search", "query": "evict the oldest cookie", "root": root})
    assert (indexed.status_code, indexed.json()["type"], indexed.json()["files"] > 4) == (200, "Indexed", True)
    assert (found.status_code, found.json()["status"]) == (200, "found")
    assert found.json()["results"][0]["path"] == "jar/store.py"


async def test_a_root_is_found_by_another_name_of_its_folder(http, root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    await http.post("/codebase", json={"type": "Index", "root": root})
    known = await http.post("/codebase", json={"type": "Known", "root": str(tmp_path / "link")})
    assert known.json() == {"type": "KnownAnswer", "known": True}


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"type": "Search", "query": "x", "root": "/nowhere"}, 404, "not_indexed"),
        ({"type": "Index", "root": "/nowhere"}, 422, "no_such_folder"),
        ({"type": "Index", "root": "here"}, 422, "input"),
        ({"type": "Search", "root": "/nowhere"}, 422, "input"),
        ({"type": "Guess", "root": "/nowhere"}, 422, "input"),
        ([], 422, "input"),
    ],
)
async def test_what_cannot_be_answered_says_why(http, request_, status, code):
    answer = await http.post("/codebase", json=request_)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["hint"]


async def test_nobody_is_answered_without_the_token(http, root):
    answer = await http.post("/codebase", json={"type": "Stats"}, headers={"Authorization": "Bearer guess"})
    assert answer.status_code == 401


async def test_the_form_of_requests_and_answers_is_documented(http):
    document = (await http.get("/openapi.json")).json()
    route, schemas = document["paths"]["/codebase"]["post"], document["components"]["schemas"]
    told = route["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    answered = route["responses"]["200"]["content"]["application/json"]["schema"]["anyOf"]
    names = {each["$ref"].rpartition("/")[2] for each in (*told, *answered)}
    assert {"Search", "Index", "SearchAnswer", "Indexed"} <= names <= schemas.keys()
    assert "query" in schemas["Search"]["required"]


def test_who_may_come_again_is_told_so():
    assert status_of(CodebaseInUse("x")) == 409
    assert [status_of(OwnerLost("x")), status_of(PlacementFailed("x"))] == [503, 503]
    assert status_of(error_of("not_indexed", "x")) == 404
