"""The command: a server in a process of its own, with clients that behave badly."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import threading
import time

import pytest

from adaptag.cli.program import run
from adaptag.errors import ParameterError
from adaptag.server.models import Models
from adaptag.web.running import Address, AddressError, bind, is_loopback
from tests.server.conftest import SENTENCES, train_tagger

TOKENS = {"tokens": ["Anna", "is", "in", "Rome"]}


def raw(server, data, timeout=10):
    """Send bytes; all that comes back until the connection is closed."""
    with socket.create_connection((server.host, server.port), timeout=timeout) as connection:
        connection.sendall(data)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serves_and_stops(start_server, model_files, number):
    server = start_server(*model_files)
    assert "names: model, loaded from" in server.greeting
    status, answer = server.request("POST", "/tag", TOKENS)
    assert (status, answer) == (200, {"labels": ["B-PER", "O", "O", "B-LOC"]})
    code, errors = server.stop(number)
    assert code == 0
    assert "stopped" in errors
    assert "Traceback" not in errors


def test_running_requests_are_finished_at_the_end(start_server, model_files):
    server = start_server(model_files[0])
    text = "Anna Berg lives in Rome and Oslo\n" * 20_000
    answers = []

    def ask():
        answers.append(server.request("POST", "/tag", {"text": text}))

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.3)
    code, errors = server.stop()
    asking.join()
    assert code == 0
    ((status, answer),) = answers
    assert status == 200
    assert len(answer["spans"]) == 60_000
    assert "Traceback" not in errors


def test_slow_and_broken_clients_are_cut_off(start_server, model_files):
    server = start_server(model_files[0], "--timeout", "0.5", "--max-size", "1000")
    head = b"POST /tag HTTP/1.1\r\nHost: localhost\r\n"
    begin = time.perf_counter()
    assert raw(server, b"") == b""
    assert raw(server, b"POST /tag HT") == b""
    assert raw(server, head) == b""
    slow = raw(server, head + b"Content-Length: 100\r\n\r\n{")
    assert slow.startswith(b"HTTP/1.1 408 ")
    assert b'{"error":' in slow
    assert time.perf_counter() - begin < 8
    large = raw(server, head + b"Content-Length: 9999999\r\n\r\n")
    assert large.startswith(b"HTTP/1.1 413 ")
    chunked = raw(
        server, head + b"Transfer-Encoding: chunked\r\n\r\n7d0\r\n" + b"a" * 2000 + b"\r\n0\r\n\r\n"
    )
    assert chunked.startswith(b"HTTP/1.1 413 ")
    assert raw(server, b"\x16\x03\x01 nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert server.request("POST", "/tag", TOKENS)[0] == 200
    _, errors = server.stop()
    assert "Traceback" not in errors


def test_clients_that_do_not_read_are_cut_off(start_server, model_files):
    server = start_server(model_files[0], "--timeout", "0.5")
    head = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n"
    size = len(raw(server, head + b"Connection: close\r\n\r\n"))
    n = 20_000_000 // size  # more than the buffers of the system hold
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(10)
    with contextlib.closing(connection):
        connection.connect((server.host, server.port))
        connection.sendall((head + b"\r\n") * n)
        time.sleep(4)
        received = 0
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(1 << 20):
                received += len(part)
    assert 0 < received < n * size / 2
    assert server.request("POST", "/tag", TOKENS)[0] == 200


def test_more_connections_than_allowed_are_refused(start_server, model_files):
    server = start_server(model_files[0], "--max-connections", "3")
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(contextlib.closing(server.connection())) for _ in range(3)]
        for connection in kept:
            connection.connect()
        time.sleep(0.2)
        status, answer = server.request("GET", "/health")
        assert (status, answer) == (503, {"error": "too many connections"})
        kept[0].request("GET", "/health")
        assert kept[0].getresponse().status == 200
    time.sleep(0.2)
    assert server.request("GET", "/health")[0] == 200


def test_other_hosts_need_a_token(start_server, model_files):
    server = start_server(model_files[0], "--host", "0.0.0.0")
    token = server.greeting.rpartition("?token=")[2].split()[0]
    assert len(token) >= 32
    assert server.request("POST", "/tag", TOKENS)[0] == 401
    bearer = {"Authorization": f"Bearer {token}", "Host": "any.example"}
    assert server.request("POST", "/tag", TOKENS, bearer)[0] == 200


def test_token_of_the_environment(start_server, model_files):
    server = start_server(model_files[0], ADAPTAG_TOKEN="from-the-environment")
    assert "from-the-environment" not in server.greeting
    assert server.request("GET", "/health")[0] == 401
    bearer = {"Authorization": "Bearer from-the-environment"}
    assert server.request("GET", "/health", None, bearer)[0] == 200


def wait_for(condition, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("it did not happen")


def test_replaced_models_are_loaded_again(start_server, model_files, tmp_path):
    path, other = tmp_path / "names.adaptag", tmp_path / "other.adaptag"
    shutil.copy(model_files[0], path)
    as_things = [
        [(word, label.replace("PER", "THING")) for word, label in sentence]
        for sentence in SENTENCES
    ]
    train_tagger(other, as_things)
    server = start_server(path)

    def state():
        return server.request("GET", "/health")[1]["models"][0]

    def labels():
        return server.request("POST", "/tag", TOKENS)[1]["labels"]

    assert labels()[0] == "B-PER"
    path.write_bytes(b"nonsense")  # in place, while the model is in use
    wait_for(lambda: state()["error"])
    assert "not an adaptag" in state()["error"]
    assert labels()[0] == "B-PER"
    shutil.copy(model_files[2], path)
    wait_for(lambda: "holds an adaptag classifier" in (state()["error"] or ""))
    path.unlink()
    assert labels()[0] == "B-PER"
    other.replace(path)
    wait_for(lambda: labels()[0] == "B-THING")
    assert state()["error"] is None
    assert state()["loads"] == 2
    _, errors = server.stop()
    assert "the old model stays" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "missing.adaptag"], "missing.adaptag"),
        (["serve", "{names}", "{names}"], "two models have the name 'names'"),
        (["serve", "={names}"], "allowed: FILE or NAME=FILE"),
        (["serve", "{names}", "--token", "short"], "the token has 5 characters"),
        (["serve", "{names}", "--port", "{used}"], "address already in use"),
        (["serve", "{names}", "--host", "nowhere.invalid", "--port", "0"], "nowhere.invalid"),
        (["serve", "{names}", "--threads", "0"], "--threads"),
        (["serve"], "MODEL"),
    ],
)
def test_mistakes_end_with_a_message(command_line, model_files, arguments, message):
    with contextlib.closing(bind(Address(port=0))) as used:
        places = {"names": model_files[0], "used": used.getsockname()[1]}
        done = command_line(run, *(item.format(**places) for item in arguments))
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_addresses():
    assert Address.of().token is None
    assert Address.of("127.0.0.9").token is None
    assert Address.of("10.0.0.1").generated
    assert Address.of("10.0.0.1").access.hosts is None
    assert Address.of("::", 80, "long-enough").url == "http://[::1]:80/"
    assert is_loopback("localhost")
    assert not is_loopback("example.org")
    with pytest.raises(ParameterError, match="ASCII"):
        Address.of(token="pässwörter")
    used = bind(Address(port=0))
    with contextlib.closing(used), pytest.raises(AddressError, match="choose another address"):
        bind(Address(port=used.getsockname()[1]))


def test_names_of_models(model_files, tmp_path):
    models = Models.load([f"a={model_files[0]}", str(model_files[1])])
    assert [served.name for served in models] == ["a", "chinese"]
    odd = tmp_path / "x=y.adaptag"
    shutil.copy(model_files[0], odd)
    assert [served.name for served in Models.load([str(odd)])] == ["x=y"]


def test_missing_packages_are_named(command_line, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = command_line(run, "serve", "x.adaptag")
    assert done.code == 2
    assert "pip install 'adaptag[serve]'" in done.err
