"""Commands on stdin, one a line, drive a client; what it reports goes to stdout. Every language has the same."""

import sys
import threading
from datetime import datetime, timedelta, timezone
from decimal import Decimal

# The time of the calls that have one. Its zone is not the machine's.
AT = datetime(2020, 2, 29, 12, 34, 56, 789000, tzinfo=timezone(timedelta(hours=5, minutes=30)))
LOCAL_AT = AT.astimezone().replace(tzinfo=None)
TRAITS = {"name": "Zoë 🎈 שלום", "email": "ada@example.com"}

# A value of each kind.
PROPERTIES = {
    "total": 129.95,
    "decimal": Decimal("0.1"),
    "count": 3,
    "big": 18446744073709551615,
    "negative": -9007199254740993,
    "isPaid": True,
    "items": ["a", {"sku": "b"}],
    "text": "quotes \" \\ and \u2028 \u0001",
    "due": AT,
}


LINES = threading.Lock()


def say(*words):
    """Clients report from threads of their own. `print` writes the end of a line separately, so lines could mix."""
    line = " ".join(str(word).replace("\n", " ") for word in words)
    with LINES:
        print(line, flush=True)


def run(create, send_calls, send_track, close):
    clients = {}
    closing = []

    def close_one(name):
        close(clients[name])
        say("closed", name)

    for line in sys.stdin:
        command, name, *rest = line.split()
        if command == "open":
            url, key, *options = rest
            report = lambda error, _batch, name=name: say("failed", name, error)
            clients[name] = create(url, key, options, report)
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
