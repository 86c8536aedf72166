"""Commands on stdin, one a line, drive a client; what it reports goes to stdout. Every language has the same."""

import sys
import threading


def say(*words):
    print(" ".join(str(word).replace("\n", " ") for word in words), flush=True)


def run(create, send_calls, send_track, close):
    clients = {}
    closing = []

    def close_one(name):
        close(clients[name])
        say("closed", name)

    for line in sys.stdin:
        command, name, *rest = line.split()
        if command == "open":
            url, key, gzip = rest
            report = lambda error, _batch, name=name: say("failed", name, error)
            clients[name] = create(url, key, gzip == "gzip", report)
        elif command == "calls":
            send_calls(clients[name], rest[0])
        elif command == "many":
            user, count, size = rest
            for n in range(int(count)):
                try:
                    send_track(clients[name], user, {"n": n, "fill": "x" * int(size)})
                except Exception as error:
                    say("failed", name, type(error).__name__)
        elif command == "close":
            closing.append(threading.Thread(target=close_one, args=(name,)))
            closing[-1].start()
    for thread in closing:
        thread.join()
