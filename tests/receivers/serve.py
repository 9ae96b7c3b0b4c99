"""A developer's server that verifies webhooks with verify.py: 204 if a request verifies, otherwise 401.

It prints its port, then reads the signing secret from standard input, and serves until it is killed.
"""

import http.server
import sys
import time

from verify import verify


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.send_response(204 if verify(headers, body, [SECRET], time.time()) else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
SECRET = sys.stdin.readline().strip()
server.serve_forever()
