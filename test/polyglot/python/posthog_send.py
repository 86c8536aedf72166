"""Sends with PostHog's client."""

from posthog import Posthog

from program import AT, LOCAL_AT, PROPERTIES, TRAITS, run


def create(url, key, options, report):
    gzip = {"gzip": True} if "gzip" in options else {}
    small = {"flush_at": 15, "max_retries": 10} if "helped" in options else {}
    client = Posthog(key, host=url, on_error=report, **gzip, **small)
    client.local_at = AT if "helped" in options else LOCAL_AT
    return client


def send_calls(client, user):
    client.set(distinct_id=user, properties=TRAITS)
    client.capture("Order Completed ✓", distinct_id=user, properties=PROPERTIES, timestamp=AT)
    client.capture("$pageview", distinct_id=user, properties={"$pathname": "/"})
    client.capture("$screen", distinct_id=user, properties={"$screen_name": "Start", "first": True})
    client.group_identify("company", user, {"seats": 12})
    client.alias(user, "anon-1")
    client.capture("Local Time", distinct_id=user, timestamp=client.local_at)


def send_track(client, user, properties):
    client.capture("Numbered", distinct_id=user, properties=properties)


run(create, send_calls, send_track, lambda client: client.shutdown())
