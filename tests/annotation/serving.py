"""A labelling server in a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

PROGRAM = [sys.executable, "-c", "from adaptag.cli.program import start; start()", "annotate"]


class Server:
    """A server in a process of its own."""

    def __init__(self, project, *options):
        command = [*PROGRAM, str(project), "--no-open", "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        said = []
        while not (address := re.search(r"http://\S+", said[-1] if said else "")):
            said.append(self.process.stderr.readline())
            assert said[-1], "".join(said)  # it ended
        self.url = address[0]

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}api/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stderr.close()
        return code
