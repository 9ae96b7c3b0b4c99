"""A proxy between the service and the emulator of AWS. It passes all bytes on, and holds each exchange against AWS's rules.

    proxy.py --upstream HOST:PORT --folder FOLDER

It listens on a free port of the loopback interface and prints the port. It runs exactly as long as its standard input is open.
FOLDER/findings.jsonl has a JSON object for each violation, as soon as it is found; standard error shows the same for people.
FOLDER/calls.json, which is written last, says how many calls were looked at.

Two processes share the work: this one passes bytes on, and the other one judges them, so a rule delays no call. Each connection
of a client has a connection of its own to the emulator, and both end together, so the proxy changes nothing about them. The
header Host is passed on as it is, because signatures cover it.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import pathlib
import queue
import sys
import threading

import botocore.config
import botocore.session

from exchange import Exchange
from judge import Judge
from tables import Tables

LONGEST_HEAD = 256 * 1024
# The emulator's own paths, which are no calls of AWS.
NOT_AWS = ("/_ministack", "/_aws", "/_localstack")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--upstream", required=True)
    arguments.add_argument("--folder", required=True, type=pathlib.Path)
    options = arguments.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "calls.json").unlink(missing_ok=True)
    (options.folder / "findings.jsonl").write_text("")

    fork = multiprocessing.get_context("fork")
    exchanges, to_judge = fork.Pipe(duplex=False)
    judging = fork.Process(target=judge_all, args=(exchanges, to_judge, options.upstream, options.folder))
    judging.start()
    exchanges.close()
    waiting = Waiting(to_judge)
    host, _, port = options.upstream.rpartition(":")
    asyncio.run(serve(host, int(port), waiting.put))
    waiting.close()
    judging.join()


class Waiting:
    """The exchanges that the judge has not taken yet. A thread hands them over, so that a full pipe delays no call."""

    def __init__(self, to_judge):
        self.to_judge = to_judge
        self.pending = queue.SimpleQueue()
        self.put = self.pending.put
        self.thread = threading.Thread(target=self.hand_over)
        self.thread.start()

    def close(self):
        self.put(None)
        self.thread.join()

    def hand_over(self):
        while (exchange := self.pending.get()) is not None:
            self.to_judge.send(exchange)
        self.to_judge.close()


# --- the judge's process ---------------------------------------------------------------------------------------------


def judge_all(exchanges, to_judge, upstream, folder):
    """Judges exchanges until the other process has closed its end."""
    to_judge.close()  # this process's copy, which would keep the pipe open
    judge = Judge(Tables(described_at(f"http://{upstream}")))
    seen = set()
    with open(folder / "findings.jsonl", "a", encoding="utf-8") as findings:
        while exchange := received(exchanges):
            for finding in judge.findings(exchange):
                if finding not in seen:
                    seen.add(finding)
                    findings.write(json.dumps(vars(finding)) + "\n")
                    findings.flush()
                    print(f"Not as on AWS: {finding}", file=sys.stderr, flush=True)
    unfinished = folder / "calls.json.new"
    unfinished.write_text(json.dumps(judge.summary(), indent=2) + "\n")
    unfinished.rename(folder / "calls.json")


def received(exchanges):
    try:
        return exchanges.recv()
    except EOFError:
        return None


def described_at(endpoint):
    """Asks the emulator for the definitions of its tables. It creates them itself, from the template."""
    config = botocore.config.Config(retries={"mode": "standard", "max_attempts": 2}, connect_timeout=5, read_timeout=20)

    def describe():
        session = botocore.session.get_session()
        client = session.create_client("dynamodb", region_name="us-east-1", endpoint_url=endpoint, config=config)
        names = [name for page in client.get_paginator("list_tables").paginate() for name in page["TableNames"]]
        return [client.describe_table(TableName=name)["Table"] for name in names]

    return describe


# --- passing on ------------------------------------------------------------------------------------------------------


async def serve(host, port, done):
    """Passes connections on until standard input ends."""

    async def connected(reader, writer):
        try:
            await pass_on(reader, writer, host, port, done)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # one of the two ended in the middle: there is nothing to judge
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=LONGEST_HEAD, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: (wait_for_end(), loop.call_soon_threadsafe(ended.set)), daemon=True).start()
    await ended.wait()
    server.close()
    loop.set_exception_handler(lambda *_: None)  # the connections that end now are no errors


def wait_for_end():
    while os.read(0, 4096):
        pass


async def pass_on(client, to_client, host, port, done):
    """One connection of a client, with its own connection to the emulator, request by request."""
    upstream, to_upstream = await asyncio.open_connection(host, port, limit=LONGEST_HEAD)
    try:
        while head := await next_head(client, upstream):
            method, target, headers = read_head(head)
            if headers.get("expect", "").lower() == "100-continue":
                to_client.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                head = without_expect(head)
            body, raw = await read_body(client, headers)
            to_upstream.write(head + raw)
            answer_head = await upstream.readuntil(b"\r\n\r\n")
            _, status, answer_headers = read_head(answer_head)
            status = int(status)
            if method == "HEAD" or status in (204, 304) or status < 200:
                answer = raw = b""
            elif "content-length" in answer_headers or "transfer-encoding" in answer_headers:
                answer, raw = await read_body(upstream, answer_headers)
            else:
                answer = raw = await upstream.read()
            to_client.write(answer_head + raw)
            await to_client.drain()
            if not target.startswith(NOT_AWS):
                done(Exchange(method, target, headers, body, status, answer_headers, answer))
            if "close" in (headers.get("connection", "").lower(), answer_headers.get("connection", "").lower()):
                return
    finally:
        to_upstream.close()


async def next_head(client, upstream):
    """The head of the next request; nothing if the client or the emulator closes the connection instead."""
    request = asyncio.ensure_future(client.readuntil(b"\r\n\r\n"))
    closed = asyncio.ensure_future(upstream.read(1))
    try:
        await asyncio.wait({request, closed}, return_when=asyncio.FIRST_COMPLETED)
        return request.result() if request.done() and not request.exception() else b""
    finally:
        for waits in (request, closed):
            waits.cancel()
        await asyncio.gather(request, closed, return_exceptions=True)


def read_head(head):
    """The first two words of the first line that differ between messages, and the headers."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            name = name.strip().lower()
            headers[name] = f"{headers[name]},{value.strip()}" if name in headers else value.strip()
    return words[0], words[1], headers


def without_expect(head):
    return b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))


async def read_body(reader, headers):
    """The body, and its bytes as they were sent."""
    if "chunked" not in headers.get("transfer-encoding", "").lower():
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return body, body
    body, raw = bytearray(), bytearray()
    while True:
        line = await reader.readuntil(b"\r\n")
        raw += line
        size = int(line.split(b";")[0], 16)
        if size == 0:
            break
        chunk = await reader.readexactly(size + 2)
        raw += chunk
        body += chunk[:-2]
    while True:
        line = await reader.readuntil(b"\r\n")
        raw += line
        if line == b"\r\n":
            return bytes(body), bytes(raw)


if __name__ == "__main__":
    main()
