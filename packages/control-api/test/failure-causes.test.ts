import { expect, test } from "vitest";
import { causeOf, describeCause, describeReason } from "../src/failure-causes.js";

test.each([
  ["HTTP 500", "http_500"],
  ["HTTP 404", "http_404"],
  ["gave up after 4 h of retries: HTTP 503", "http_503"],
  ["gave up after 90 s of retries: timeout", "timeout"],
  ["dns_failed", "dns_failed"],
  ["connection_refused", "connection_refused"],
  [
    "certificate_invalid: The certificate has expired, so no request was sent. Renew it",
    "certificate_invalid",
  ],
  ["address_not_allowed: 10.0.0.1 is a private address; allow it with --allow", "address_not_allowed"],
  ["https://a.example/x: HTTP 404; https://b.example/: timeout", "http_404"],
  ["https://a.example/: HTTP 200; https://b.example/: timeout", "timeout"],
  ["https://a.example/: not_tried; https://b.example/: HTTP 500", "http_500"],
  ["gave up after 4 h of retries: https://a.example/: HTTP 502", "http_502"],
  ["all URLs are disabled because they answered 410", "http_410"],
  ["the message is no longer stored", "message_gone"],
  ["the source is not connected to this destination", "source_disconnected"],
  ["internal error: TypeError", "internal_error"],
  ["write_failed: ENOSPC", "write_failed"],
  ["no URL is left to try", "other"],
  ["anything_else: at all", "other"],
  ["constructor", "other"],
])("the cause of %s is %s", (reason, cause) => expect(causeOf(reason)).toBe(cause));

test.each(["replay", "waits for an earlier message of this user", "waiting for https://a.example/"])(
  "%s is no failure",
  (reason) => expect(causeOf(reason)).toBeUndefined(),
);

test.each([
  ["http_401", "401 Unauthorized", /secret/],
  ["http_403", "403 Forbidden", /secret/],
  ["http_404", "404 Not Found", /URL/],
  ["http_410", "410 Gone", /disabled/],
  ["http_413", "413 Content Too Large", /body limit/],
  ["http_429", "429 Too Many Requests", /rate limit/],
  ["http_302", "302 Found", /[Rr]edirect/],
  ["http_418", "Status 418", /rejected/],
  ["http_503", "503 Service Unavailable", /receiver failed/],
  ["timeout", "Timeout", /in time/],
  ["dns_failed", "Host name not found", /DNS/],
  ["tls_failed", "TLS failed", /TLS 1.2/],
  ["connection_refused", "Connection refused", /Nothing listens/],
  ["address_not_allowed", "Address not allowed", /allow/],
  ["other", "Other failure", /last attempt/],
])("%s is %s", (cause, title, advice) => {
  expect(describeCause(cause)).toEqual({ cause, title, advice: expect.stringMatching(advice) });
});

test.each([
  ["HTTP 500", "500 Internal Server Error"],
  ["HTTP 400", "400 Bad Request"],
  ["HTTP 200", "200 OK"],
  ["timeout", "Timeout"],
  ["transform_failed: Hash: TypeError", "Transformation failed: Hash: TypeError"],
  ["https://a.example/: connection_refused", "https://a.example/: Connection refused"],
  ["all URLs are disabled because they answered 410", "410 Gone"],
  ["queued", "queued"],
  ["gave up after 4 h of retries: HTTP 503", "gave up after 4 h of retries: 503 Service Unavailable"],
])("a reason has the form of the causes: %s", (reason, words) => expect(describeReason(reason)).toBe(words));
