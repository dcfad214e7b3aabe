"""Small models of each kind, a server of them in this process, and one in a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

pytest.importorskip("starlette", reason="the extra 'serve' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

PROGRAM = "from adaptag.cli.program import start; start()"
SENTENCES = [
    [("Anna", "B-PER"), ("Berg", "I-PER"), ("lives", "O"), ("in", "O"), ("Rome", "B-LOC")],
    [("Rome", "B-LOC"), ("is", "O"), ("old", "O")],
    [("Carl", "B-PER"), ("met", "O"), ("Anna", "B-PER"), ("in", "O"), ("Oslo", "B-LOC")],
    [("Oslo", "B-LOC"), ("is", "O"), ("cold", "O")],
] * 5


def train_tagger(path, sentences=SENTENCES):
    import adaptag

    tokens = [[word for word, _ in sentence] for sentence in sentences]
    labels = [[label for _, label in sentence] for sentence in sentences]
    adaptag.train(tokens, labels, passes=5).save(path)


@pytest.fixture(scope="session")
def model_files(tmp_path_factory):
    """A tagger, a segmenter and a classifier."""
    from adaptag import DocumentClassifier, Segmenter

    folder = tmp_path_factory.mktemp("models")
    train_tagger(folder / "names.adaptag")
    words = [["我们", "在", "北京", "大学"], ["他们", "在", "上海"], ["我们", "去", "上海"]] * 5
    Segmenter.train(words, passes=5).save(folder / "chinese.adaptag")
    texts = ["a good film", "great and good", "a bad film", "awful and bad"] * 5
    classes = ["pos", "pos", "neg", "neg"] * 5
    DocumentClassifier.train(texts, classes, passes=5).save(folder / "films.adaptag")
    return [folder / f"{name}.adaptag" for name in ("names", "chinese", "films")]


def make_client(files, limits=None, access=None, **service_limits):
    from starlette.testclient import TestClient

    from adaptag.server.app import PATHS, make_app
    from adaptag.server.models import Models
    from adaptag.server.service import Service, ServiceLimits
    from adaptag.web.guards import Guard

    service = Service(
        Models.load(files), ServiceLimits(**service_limits), paths=PATHS, check_seconds=0.05
    )
    guard = Guard(make_app(service), access, limits, service.metrics.observe_request)
    client = TestClient(guard, base_url="http://localhost", raise_server_exceptions=False)
    client.service = service
    return client


@pytest.fixture(scope="session")
def client(model_files):
    """A server of the three models in this process."""
    with make_client(model_files) as client:
        yield client


@dataclass
class Process:
    """A server in a process of its own."""

    process: subprocess.Popen
    host: str
    port: int
    greeting: str

    def connection(self, timeout=10):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        with contextlib.closing(self.connection()) as connection:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")

    def stop(self, number=signal.SIGTERM):
        """End it; its exit code, and what it wrote."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@pytest.fixture
def start_server():
    """Starts servers, and ends those that still run."""
    started = []

    def start(*arguments, **environment):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "serve", *map(str, arguments), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        greeting = ""
        for line in process.stderr:
            greeting += line
            found = re.search(r"http://([\w.]+):(\d+)/", line)
            if found:
                server = Process(process, found[1], int(found[2]), greeting)
                _wait_until_it_answers(server)
                return server
        pytest.fail(f"the server did not start: {greeting}")

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _wait_until_it_answers(server):
    for _ in range(200):
        with contextlib.suppress(OSError):
            server.request("GET", "/health")
            return
        time.sleep(0.05)
    pytest.fail("the server does not answer")
