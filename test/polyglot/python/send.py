"""python send.py segment|rudderstack: the two have the same calls."""

import sys
from importlib import import_module

from program import AT, LOCAL_AT, PROPERTIES, TRAITS, run

Client = import_module(f"{sys.argv[1]}.analytics.client").Client


def create(url, key, options, report):
    gzip = {"gzip": True} if "gzip" in options else {}
    small = {"upload_size": 15} if "helped" in options else {}
    client = Client(key, host=url, on_error=report, **gzip, **small)
    client.local_at = AT if "helped" in options else LOCAL_AT
    return client


def send_calls(client, user):
    client.identify(user, TRAITS)
    client.track(user, "Order Completed ✓", PROPERTIES, timestamp=AT)
    client.page(user, "Docs", "Home", {"path": "/"})
    client.screen(user, "Docs", "Start", {"first": True})
    client.group(user, "g1", {"seats": 12})
    client.alias("anon-1", user)
    client.track(user, "Local Time", timestamp=client.local_at)


def send_track(client, user, properties):
    client.track(user, "Numbered", properties)


run(create, send_calls, send_track, lambda client: client.shutdown())
