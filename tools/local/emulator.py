"""Starts the AWS emulator (ministack) for the local stack.

    emulator.py --port PORT --proxy-port PORT --logs FOLDER

Ministack's own environment variables configure everything else. This launcher removes two of its delays (a warm
invocation then takes about 4 ms instead of 97), makes it evaluate policies as AWS does, refuses what web pages send
(guard.py), and writes the output of each function to FOLDER/<function>.log. The proxy port is the one that functions call: a proxy in
front of the emulator passes Host on as it is. Without a proxy it is the emulator's own port.

The emulator runs exactly as long as its standard input is open. When the program that started it ends, for any reason,
the emulator and all its function processes end too.
"""

import argparse
import inspect
import os
import signal
import socketserver
import sys
import threading

import guard

CHANGED = (
    "The emulator has changed: {} is not what it was in ministack 1.5.33. "
    "Install the version in tools/local/requirements.txt, or adapt tools/local/emulator.py."
)

try:
    from ministack import app as gateway
    from ministack.core import iam_actions, iam_evaluator, lambda_runtime, router
    from ministack.services import apigateway_v1, lambda_svc
    from samtranslator.swagger import swagger
except ImportError as error:
    sys.exit(CHANGED.format(error.name))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", required=True)
    arguments.add_argument("--proxy-port", required=True)
    arguments.add_argument("--logs", required=True)
    options = arguments.parse_args()

    end_with_starter()
    send_small_packets_at_once()
    take_only_logs_that_are_there()
    count_loopback_as_tls()
    allow_batches_like_single_messages()
    read_concurrency_as_a_number()
    name_the_host_of_an_api()
    add_routes_in_place()
    keep_function_logs(options.logs)
    refuse_pages({int(options.port), int(options.proxy_port)})
    refuse_pages_at_runtime_apis()

    os.environ["GATEWAY_PORT"] = options.port
    sys.argv = ["ministack"]
    gateway.main()


def end_with_starter():
    """Function processes join this process group, so one signal ends them all."""
    if os.getpgid(0) != os.getpid():
        os.setpgid(0, 0)

    def watch():
        while os.read(0, 4096):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def send_small_packets_at_once():
    """The server writes headers and body separately. Nagle's algorithm would delay the second write by 40 ms."""
    handler = socketserver.StreamRequestHandler
    if not hasattr(handler, "disable_nagle_algorithm"):
        sys.exit(CHANGED.format("socketserver.StreamRequestHandler.disable_nagle_algorithm"))
    handler.disable_nagle_algorithm = True


def take_only_logs_that_are_there():
    """Ministack waits up to 50 ms for log lines after each invocation. The log files get later lines in any case."""
    worker = expected(lambda_runtime, "Worker")
    drain = expected(worker, "_drain_stderr_bounded", ["first_line_wait", "idle_confirm"])

    def drain_at_once(self, *_waits, **_named_waits):
        return drain(self, first_line_wait=0, idle_confirm=0)

    worker._drain_stderr_bounded = drain_at_once


def count_loopback_as_tls():
    """The buckets' policies refuse plain HTTP. AWS uses TLS for every call, the emulator for none."""
    resolve = expected(iam_evaluator, "_resolve_condition_key", ["key", "ctx"])

    def resolve_behind_tls(key, ctx):
        return "true" if key.lower() == "aws:securetransport" else resolve(key, ctx)

    iam_evaluator._resolve_condition_key = resolve_behind_tls


def allow_batches_like_single_messages():
    """IAM has no separate actions for SQS batches: sqs:SendMessage also allows SendMessageBatch."""
    extract = expected(iam_actions, "extract_iam_action", ["service"])

    def extract_without_batch(*arguments, **named_arguments):
        action = extract(*arguments, **named_arguments)
        return action.removesuffix("Batch") if action and action.startswith("sqs:") else action

    iam_actions.extract_iam_action = extract_without_batch


def read_concurrency_as_a_number():
    """Ministack leaves a mapping's value as text if it comes from a template parameter."""
    allowed = expected(lambda_svc, "_sqs_esm_concurrency", ["esm"])

    def allowed_by_number(esm, *arguments, **named_arguments):
        scaling = {name: int(value) for name, value in (esm.get("ScalingConfig") or {}).items()}
        return allowed({**esm, "ScalingConfig": scaling}, *arguments, **named_arguments)

    lambda_svc._sqs_esm_concurrency = allowed_by_number


def name_the_host_of_an_api():
    """Behind AWS's gateway a function learns at which host it was called. With the path of the API added, the name leads back here."""
    build = expected(apigateway_v1, "_build_lambda_event_v1", ["api_id", "headers"])

    def build_with_host(api_id, *arguments, **named_arguments):
        event = build(api_id, *arguments, **named_arguments)
        host = {name.lower(): value for name, value in event["headers"].items()}["host"].replace("localhost:", "127.0.0.1:")
        event["requestContext"]["domainName"] = f"{host}/_aws/execute-api/{api_id}"
        return event

    apigateway_v1._build_lambda_event_v1 = build_with_host


def add_routes_in_place():
    """SAM copies the document of an API twice for each route, which takes more than a second. Only the copies are used."""
    expected(swagger, "_deepcopy")
    swagger._deepcopy = lambda document: document


def keep_function_logs(folder):
    worker = expected(lambda_runtime, "ProvidedWorker")
    pump = expected(worker, "_pump_output", ["stream", "log_queue"])

    def pump_and_keep(self, stream, log_queue):
        with open(os.path.join(folder, f"{self.func_name}.log"), "ab", buffering=0) as log:
            pump(self, Kept(stream, log), log_queue)

    worker._pump_output = pump_and_keep


def refuse_pages(ports):
    """Ministack serves the application that its module holds when it starts."""
    served = expected(gateway, "app", ["scope", "receive", "send"])
    service_of = expected(router, "detect_service", ["method", "path", "headers", "query_params"])
    gateway.app = guard.Guard(served, ports, lambda *request: service_of(*request) == "s3")


def refuse_pages_at_runtime_apis():
    """Each function process has a port from which it gets its invocations."""
    worker = expected(lambda_runtime, "ProvidedWorker")
    handler_class = expected(worker, "_build_handler_class", ["generation", "pending"])

    def guarded_handler_class(self, generation, pending):
        class Guarded(handler_class(self, generation, pending)):
            def parse_request(self):
                if not super().parse_request():
                    return False
                reason = guard.reason_to_refuse(self.headers.items(), {self.server.server_address[1]})
                if reason is not None:
                    self.send_error(403, reason)
                return reason is None

        return Guarded

    worker._build_handler_class = guarded_handler_class


class Kept:
    """A stream that also writes its lines to a log."""

    def __init__(self, stream, log):
        self.stream = stream
        self.log = log

    def readline(self):
        line = self.stream.readline()
        self.log.write(line)
        return line

    def close(self):
        self.stream.close()


def expected(owner, name, parameters=()):
    """Returns the wrapped item, after a check that it still exists and accepts the expected parameters."""
    found = getattr(owner, name, None)
    if found is None or not set(parameters) <= set(inspect.signature(found).parameters):
        sys.exit(CHANGED.format(f"{owner.__name__}.{name}({', '.join(parameters)})"))
    return found


if __name__ == "__main__":
    main()
