"""python send.py segment|rudderstack: the two have the same calls."""

import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from importlib import import_module

from program import run

Client = import_module(f"{sys.argv[1]}.analytics.client").Client
AT = datetime(2020, 2, 29, 12, 34, 56, 789000, tzinfo=timezone(timedelta(hours=5, minutes=30)))


def create(url, key, gzip, report):
    return Client(key, host=url, on_error=report, **({"gzip": True} if gzip else {}))


def send_calls(client, user):
    client.identify(user, {"name": "Zoë 🎈 שלום", "email": "ada@example.com"})
    properties = {
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
    client.track(user, "Order Completed ✓", properties, timestamp=AT)
    client.page(user, "Docs", "Home", {"path": "/"})
    client.screen(user, "Docs", "Start", {"first": True})
    client.group(user, "g1", {"seats": 12})
    client.alias("anon-1", user)
    client.track(user, "Local Time", timestamp=AT.astimezone().replace(tzinfo=None))


def send_track(client, user, properties):
    client.track(user, "Numbered", properties)


run(create, send_calls, send_track, lambda client: client.shutdown())
