import { expect } from "vitest";
import {
  readPosition,
  serverSentEvent,
} from "../../../../apps/collector/src/admin/live/server-sent-event.js";
import { parseDeliveryId } from "../../../../apps/collector/src/admin/messages/outcomes.js";
import { headerProblem } from "../../../../apps/collector/src/destinations/webhooks/request/custom-headers.js";
import { echoRedactor } from "../../../../apps/collector/src/destinations/webhooks/request/redact-echo.js";
import { tracedResponseHeaders } from "../../../../apps/collector/src/destinations/webhooks/webhook-target.js";
import { CollectorError } from "../../../../apps/collector/src/errors.js";
import { basicUser } from "../../../../apps/collector/src/ingest/sources/authenticator.js";
import { StoreError } from "../../../../packages/event-log/src/ports/errors.js";
import {
  readCursor,
  readPosition as readPlace,
  writeCursor,
} from "../../../../packages/event-log/src/rules/page-cursor.js";
import { regionOfWriteKey } from "../../../../packages/protocol/src/regions.js";
import { textTarget } from "../../engine/target.js";

export const tokens = textTarget({
  name: "tokens",
  rule: "cursors, delivery ids, resume ids, credentials and headers are read or refused, and what was read can be written again",
  runs: 2_000,
  alphabet: "text",
  dictionary: [
    "dst_1.",
    "-1/",
    "/2026-11-21T09:30:00.000Z",
    "+275760-09-13T00:00:00.000Z",
    "Basic ",
    "Bearer ",
    "9007199254740993",
    ":",
    "dublin_wk_",
    "set-cookie",
  ],
  maxLength: 200,
  check(text) {
    checkCursor(text);
    checkDelivery(text);
    const position = readPosition(text);
    if (position !== undefined) {
      expect(Number.isSafeInteger(position.offset)).toBe(true);
      const [id = ""] = serverSentEvent("message", "{}", position).split("\n");
      expect(readPosition(id.slice("id: ".length))).toEqual(position);
    }
    expect(basicUser(text)).not.toBe("");
    regionOfWriteKey(text);
    checkHeaders(text);
  },
});

function checkCursor(text: string): void {
  try {
    const place = readCursor(text);
    expect(readCursor(writeCursor(place))).toEqual(place);
    readPlace(text);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    expect(error.code).toBe("invalid_request");
  }
}

function checkDelivery(text: string): void {
  try {
    const { destinationId, offset } = parseDeliveryId(text);
    expect(Number.isSafeInteger(offset)).toBe(true);
    expect(parseDeliveryId(`${destinationId}.${offset}`)).toEqual({ destinationId, offset });
  } catch (error) {
    if (!(error instanceof CollectorError)) throw error;
    expect(error.code).toBe("not_found");
  }
}

const SECRET = "Bearer s3cret-of-a-receiver";

function checkHeaders(text: string): void {
  const cut = text.indexOf(":");
  const [name, value] = cut < 0 ? [text, SECRET] : [text.slice(0, cut), text.slice(cut + 1)];
  headerProblem(name, value);
  const redact = echoRedactor([SECRET]);
  const { shown } = tracedResponseHeaders([name, `${value}${SECRET}`, "x-echo", SECRET], redact);
  expect(JSON.stringify(shown)).not.toContain("s3cret-of-a-receiver");
}
