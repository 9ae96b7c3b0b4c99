"""The proxy, with a stub behind it: it finds each fault of cases.py on the wire, and changes no byte that it passes on."""

import contextlib
import http.client
import http.server
import json
import pathlib
import socket
import subprocess
import sys
import threading

import pytest

from cases import CASES, TABLE

PROXY = pathlib.Path(__file__).parent / "proxy.py"
REQUESTS = {
    f"{case.name}-{kind}": request for case in CASES for kind, request in (("faulty", case.faulty), ("correct", case.correct))
}


class Stub(http.server.BaseHTTPRequestHandler):
    """Answers a request of cases.py as it says there, and lists and describes tables."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("transfer-encoding") == "chunked":
            while (line := self.rfile.readline()) != b"\r\n":
                body += line
        self.server.received.append((self.command, self.path, dict(self.headers.items()), body))
        request = REQUESTS.get(self.headers.get("x-case"))
        if request:
            self.say(request.status, request.answer_headers, request.answer)
        elif self.headers.get("x-amz-target", "").endswith(".DescribeTable"):
            self.say(200, {}, json.dumps({"Table": TABLE | {"TableName": json.loads(body)["TableName"]}}).encode())
        elif self.headers.get("x-amz-target", "").endswith(".ListTables"):
            self.say(200, {}, json.dumps({"TableNames": ["test-things", "test-others"]}).encode())
        elif self.path == "/chunked":
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n")
        elif self.path == "/close":
            self.close_connection = True
            self.say(200, {"connection": "close"}, b"the end")
        else:
            self.say(200, {}, body)

    do_GET = do_PUT = do_POST = do_HEAD = do_OPTIONS = answer

    def say(self, status, headers, body):
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def stub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    server.daemon_threads = True
    server.received = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Proxy:
    """A running proxy. `end` returns its findings and its counts."""

    def __init__(self, upstream, folder):
        self.folder = folder
        command = [sys.executable, PROXY, "--upstream", f"127.0.0.1:{upstream}", "--folder", folder]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(command, env=environment, text=True, **pipes)
        self.port = int(self.process.stdout.readline())

    def end(self):
        _, self.said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, self.said
        findings = [json.loads(line) for line in (self.folder / "findings.jsonl").read_text().splitlines()]
        return findings, json.loads((self.folder / "calls.json").read_text())


@pytest.fixture
def upstream():
    with stub() as server:
        yield server


@pytest.fixture
def proxy(upstream, tmp_path):
    proxy = Proxy(upstream.server_port, tmp_path)
    yield proxy
    if proxy.process.poll() is None:
        proxy.end()


def test_every_fault_is_found_on_the_wire_and_its_caller_is_named(proxy):
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port)
    for name, request in REQUESTS.items():
        headers = {"user-agent": f"aws-sdk-rust/1 app/{name}", "authorization": "AWS4", "x-case": name} | request.headers
        connection.request(request.method, request.target, request.body or None, headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (request.status, request.answer)
    findings, calls = proxy.end()

    wanted = {(case.rule, f"{case.name}-faulty") for case in CASES}
    assert {(one["rule"], one["caller"]) for one in findings} == wanted
    assert all(one["what"] in proxy.said for one in findings)
    assert min(sum(operations.values()) for operations in calls["services"].values()) > 10


def test_nothing_came_through(proxy):
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port)
    connection.request("GET", "/_ministack/health")
    connection.getresponse().read()
    # The connection is still open.
    assert proxy.end() == ([], {"services": {}, "callers": {}})
    assert proxy.said == ""


def test_all_bytes_are_passed_on(proxy, upstream):
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port)
    body = bytes(range(256)) * 4000
    connection.request("PUT", "/test-media/a%20b?x-id=PutObject", body, {"Host": "elsewhere:1", "X-Twice": "1"})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, body)
    method, target, headers, received = upstream.received[0]
    assert (method, target, received) == ("PUT", "/test-media/a%20b?x-id=PutObject", body)
    assert headers["Host"] == "elsewhere:1"

    connection.request("GET", "/chunked")
    assert connection.getresponse().read() == b"hello world"
    connection.request("HEAD", "/test-media/a")
    assert connection.getresponse().read() == b""


def test_a_client_that_waits_for_100_gets_it(proxy, upstream):
    with socket.create_connection(("127.0.0.1", proxy.port)) as connection:
        head = b"PUT /test-media/a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"body")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    assert upstream.received[0][3] == b"body"
    assert "Expect" not in upstream.received[0][2]


def test_both_connections_end_together(proxy):
    with socket.create_connection(("127.0.0.1", proxy.port)) as connection:
        connection.sendall(b"GET /close HTTP/1.1\r\nHost: h\r\n\r\n")
        received = b""
        while part := connection.recv(1000):
            received += part
        assert received.endswith(b"the end")


def test_a_request_that_ends_in_the_middle_is_no_finding(proxy, upstream):
    with socket.create_connection(("127.0.0.1", proxy.port)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 100\r\n\r\n{")
    assert proxy.end() == ([], {"services": {}, "callers": {}})
    assert upstream.received == []


def test_findings_are_written_if_its_starter_dies(upstream, tmp_path):
    proxy = Proxy(upstream.server_port, tmp_path)
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port)
    name = "reserved_words-0-faulty"
    request = REQUESTS[name]
    connection.request(request.method, request.target, request.body, {"x-case": name, "authorization": "AWS4"} | request.headers)
    connection.getresponse().read()
    proxy.process.stdin.close()
    assert proxy.process.wait(timeout=60) == 0
    assert [json.loads(line)["rule"] for line in (tmp_path / "findings.jsonl").read_text().splitlines()] == ["reserved_words"]
    proxy.process.stdout.close(), proxy.process.stderr.close()
