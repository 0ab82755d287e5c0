from __future__ import annotations

import pytest


async def test_a_request_without_the_token_is_refused_as_json(http):
    answer = await http.get("/health", headers={"Authorization": ""})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "not_authorised"


@pytest.mark.parametrize("given", ["Bearer wrong", "Bearer ", "secret", "Basic secret", "Bearer secretx", "Bearer é"])
async def test_a_wrong_token_is_refused(http, given):
    assert (await http.get("/jobs", headers={"Authorization": given.encode()})).status_code == 401


@pytest.mark.parametrize("path", ["/openapi.json", "/nothing", "/status", "/docs"])
async def test_everything_is_behind_the_token(http, path):
    assert (await http.get(path, headers={"Authorization": "Bearer wrong"})).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.2"])
async def test_a_foreign_host_is_refused_even_with_the_token(http, host):
    answer = await http.get("/health", headers={"Host": host})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign_host"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:4000", "localhost", "localhost:4000"])
async def test_this_machine_may_ask(http, host):
    answer = await http.get("/health", headers={"Host": host, "Origin": "http://evil.example"})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


async def test_no_page_of_documentation_is_served(http):
    assert (await http.get("/docs")).status_code == 404
