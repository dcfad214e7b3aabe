"""What must not reach a service does not."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from starlette.testclient import TestClient

from adaptag.errors import AdaptagError
from adaptag.web.access import Access, host_name
from adaptag.web.guards import Guard, Limits, RequestError, send_json

TOKEN = "a-long-enough-token"


async def echo(scope, receive, send):
    """Answers with the size of the body; some paths fail."""
    if scope["path"] == "/boom":
        raise KeyError("secret detail")
    if scope["path"] == "/refused":
        raise RequestError("not today", 418, {"X-Why": "tea"})
    if scope["path"] == "/bad":
        raise AdaptagError("bad input")
    if scope["path"] == "/slow":
        await asyncio.sleep(30)
    message = await receive()
    await send_json(send, {"size": len(message["body"]), "path": scope["path"]})


def client(access=None, limits=None, host="localhost"):
    return TestClient(
        Guard(echo, access, limits), base_url=f"http://{host}", follow_redirects=False
    )


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "localhost:8000"])
def test_names_of_this_machine_are_served(host):
    assert client().get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", ""])
def test_other_names_are_refused(host):
    response = client().get("/", headers={"Host": host})
    assert response.status_code == 421
    assert "allowed: 127.0.0.1" in response.json()["error"]


def test_given_names_are_served():
    guard = client(Access(hosts=frozenset({"tagger.example"})))
    assert guard.get("/", headers={"Host": "Tagger.Example:80"}).status_code == 200
    assert guard.get("/", headers={"Host": "other.example"}).status_code == 421


def test_host_names_without_ports():
    assert host_name("[::1]:80") == "::1"
    assert host_name("LOCALHOST.:80") == "localhost"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_other_origins_are_refused(headers):
    for method in ("GET", "POST"):
        response = client().request(method, "/", headers=headers)
        assert response.status_code == 403
        assert "another origin" in response.json()["error"]


def test_own_pages_and_followed_links_are_answered():
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert client().post("/", headers=own).status_code == 200
    link = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    assert client().get("/", headers=link).status_code == 200
    assert client().post("/", headers=link).status_code == 403


def test_token_in_the_header():
    guard = client(Access(TOKEN))
    assert guard.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
    assert guard.get("/", headers={"Authorization": f"Basic {basic}"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": TOKEN},
        {"Authorization": "Basic ???"},
        {"Authorization": "Basic " + base64.b64encode(f"{TOKEN}:x".encode()).decode()},
        {"Cookie": f"adaptag={TOKEN}"},
        {"Cookie": "adaptag="},
    ],
)
def test_missing_and_wrong_tokens_are_refused(headers):
    response = client(Access(TOKEN)).get("/", headers=headers)
    assert response.status_code == 401
    assert "Authorization: Bearer" in response.json()["error"]
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_token_in_the_address_becomes_a_cookie_once():
    guard = client(Access(TOKEN))
    response = guard.get(f"/page?a=1&token={TOKEN}")
    assert response.status_code == 303
    assert response.headers["Location"] == "/page?a=1"
    cookie = response.headers["Set-Cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guard.get("/page").status_code == 200  # the client keeps the cookie
    assert client(Access(TOKEN)).get("/?token=wrong").status_code == 401
    assert client(Access(TOKEN)).post(f"/?token={TOKEN}").status_code == 401


def test_redirects_stay_on_this_host():
    response = client(Access(TOKEN)).get(f"//evil.example/x?token={TOKEN}")
    assert response.status_code == 303
    assert response.headers["Location"].startswith("/")
    assert not response.headers["Location"].startswith("//")


def test_large_bodies_are_refused():
    guard = client(limits=Limits(size=10))
    assert guard.post("/", content=b"0123456789").json()["size"] == 10
    declared = guard.post("/", content=b"0123456789x")
    assert declared.status_code == 413
    assert "allowed: 10 bytes" in declared.json()["error"]
    streamed = guard.post("/", content=iter([b"0123456789", b"x"]))
    assert streamed.status_code == 413


def run(guard, messages, path="/", headers=()):
    """Call a guard with messages that may take their time; the status and the answer."""
    sent = []

    async def receive():
        message = next(messages)
        if isinstance(message, float):
            await asyncio.sleep(message)
            message = {"type": "http.disconnect"}
        return message

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *headers],
    }
    asyncio.run(guard(scope, receive, send))
    if not sent:
        return None, None
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_slow_bodies_are_cut_off():
    part = {"type": "http.request", "body": b"a", "more_body": True}
    guard = Guard(echo, limits=Limits(timeout=0.05))
    status, answer = run(guard, iter([part, 10.0]), headers=[(b"content-length", b"9")])
    assert status == 408
    assert "0.05 s" in answer["error"]
    assert guard.n_running == 0


def test_slow_answers_are_cut_off():
    guard = Guard(echo, limits=Limits(timeout=0.05))
    status, answer = run(guard, iter([]), path="/slow")
    assert status == 503
    assert answer["error"] == "no answer within 0.05 s"


def test_clients_that_are_gone_get_nothing():
    gone = iter([{"type": "http.disconnect"}])
    assert run(Guard(echo), gone, headers=[(b"content-length", b"9")]) == (None, None)


def test_bad_content_lengths():
    assert run(Guard(echo), iter([]), headers=[(b"content-length", b"-1")])[0] == 400


def test_too_many_requests_at_once():
    guard = Guard(echo, limits=Limits(requests=1))
    guard.n_running = 1
    response = TestClient(guard, base_url="http://localhost").get("/")
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "1"


def test_errors_are_json_and_tell_no_secrets(caplog):
    guard = client()
    response = guard.get("/boom")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "secret detail" in caplog.text
    assert guard.get("/bad").json() == {"error": "bad input"}
    assert guard.get("/bad").status_code == 400
    refused = guard.get("/refused")
    assert (refused.status_code, refused.headers["X-Why"]) == (418, "tea")


def test_all_answers_have_the_headers_of_security():
    for path in ("/", "/boom", "/refused"):
        headers = client().get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_requests_are_observed():
    seen = []
    guard = Guard(echo, observe=lambda *figures: seen.append(figures))
    TestClient(guard, base_url="http://localhost").get("/refused")
    ((path, status, seconds),) = seen
    assert (path, status) == ("/refused", 418)
    assert 0 < seconds < 5


def test_web_sockets_are_closed():
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client().websocket_connect("/"):
        pass
