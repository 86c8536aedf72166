"""Reads deliveries from stdin, one a line, and says of each what the libraries say."""

import json
import sys

import standardwebhooks
import svix.webhooks

sys.path.append(f"{sys.path[0]}/target")
from guide import is_valid


def verdict(library, delivery):
    secret = delivery["secret"].encode() if delivery["isRaw"] else delivery["secret"]
    try:
        library.Webhook(secret).verify(delivery["body"].encode(), delivery["headers"])
        return "valid"
    except library.WebhookVerificationError:
        return "refused"


for line in sys.stdin:
    delivery = json.loads(line)
    signature = delivery["headers"]["x-signature"]
    by_hand = is_valid(delivery["body"].encode(), signature, delivery["secret"])
    verdicts = [verdict(standardwebhooks, delivery), verdict(svix.webhooks, delivery)]
    print(*verdicts, "valid" if by_hand else "refused", flush=True)
