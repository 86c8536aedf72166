"""ClickHouse's own engine (chdb) behind as much of its HTTP interface as the destination uses."""
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from chdb.session import Session

port, password, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
session = Session(folder)
lock = Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.headers.get("X-ClickHouse-Key") != password:
            return self.answer(516, b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)")
        try:
            with lock:
                result = session.query(statement, "JSONEachRow").bytes()
            return self.answer(200, result or b"")
        except Exception as error:
            return self.answer(500, str(error).encode())

    def answer(self, status, body):
        self.send_response(403 if status == 516 else status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
print("ready", flush=True)
server.serve_forever()
