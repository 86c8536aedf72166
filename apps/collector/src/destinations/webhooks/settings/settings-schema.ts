import type { SettingsSchema } from "@sluice/destination";
import { LIMITS } from "@sluice/protocol";

export const MAX_URL_LENGTH = 2_048;

/** The settings of a webhook destination, as the catalog shows them and as they are checked. */
export const WEBHOOKS_SCHEMA = {
  type: "object",
  additionalProperties: false,
  properties: {
    webhooks: {
      title: "Webhooks",
      description: "The URLs that every message is posted to",
      type: "array",
      minItems: 1,
      maxItems: LIMITS.webhooksPerDestination,
      items: {
        type: "object",
        required: ["url"],
        additionalProperties: false,
        properties: {
          url: {
            title: "Webhook URL",
            description: "Full URL, with http or https",
            type: "string",
            format: "uri",
            maxLength: MAX_URL_LENGTH,
          },
          headers: {
            title: "Headers",
            description:
              "Sent with each request. Values of headers that carry credentials are never shown again, and a read-only token sees no values",
            type: "object",
            additionalProperties: { type: "string" },
          },
        },
      },
    },
    webhookUrl: {
      title: "Webhook URL",
      description: "The older form: one URL, without headers",
      type: "string",
      format: "uri",
      deprecated: true,
    },
    sharedSecret: {
      title: "Shared secret",
      description:
        "Signs each request (X-Signature). During a rotation, a list of two: the first signs. Write-only; null removes it",
      type: ["string", "array", "null"],
      items: { type: "string", minLength: 1 },
      minItems: 1,
      maxItems: 2,
      minLength: 1,
      writeOnly: true,
    },
    payload: {
      title: "Body",
      description:
        "full: everything that the message carried. classic: only the fields of the documented table",
      type: "string",
      enum: ["full", "classic"],
      default: "full",
    },
    success: {
      title: "Success",
      description: "any: one URL that succeeds is enough. each: every URL is retried until it succeeds",
      type: "string",
      enum: ["any", "each"],
      default: "any",
    },
    order: {
      title: "Order",
      description:
        "user: a user's messages arrive in order, and a failing message holds back that user's later ones",
      type: "string",
      enum: ["none", "user"],
      default: "none",
    },
    concurrency: {
      title: "Concurrency",
      description: "Messages in flight at the same time",
      type: "integer",
      minimum: 1,
      maximum: 1_000,
      default: 50,
    },
    rateLimit: {
      title: "Rate limit",
      description: "Messages per second; null: no limit",
      type: ["number", "null"],
      exclusiveMinimum: 0,
      maximum: 1_000_000,
    },
    batch: {
      title: "Batches",
      description:
        "Sends several messages in a request, one request at a time, each with one signature and at most 1 MB; null: each message has a request of its own",
      type: ["object", "null"],
      additionalProperties: false,
      properties: {
        maxMessages: {
          title: "Messages in a request",
          description: "At most; empty: one, without a batch",
          type: "integer",
          minimum: 1,
          maximum: 1_000,
          required: true,
        },
        maxAgeMs: {
          title: "Wait for a batch (ms)",
          description: "How long its first message waits for others",
          type: "integer",
          minimum: 10,
          maximum: 60_000,
          default: 1_000,
        },
      },
    },
    standardWebhooks: {
      title: "Standard Webhooks headers",
      description:
        "Also signs each request with webhook-id, webhook-timestamp and webhook-signature, so that a recorded request expires. Needs a shared secret",
      type: "boolean",
      default: true,
    },
    caFile: {
      title: "CA file",
      description:
        "PEM file on the collector's machine with certificate authorities to trust in addition to the public ones, at most 1 MB. It is read when you save the settings: save them again after changing the file",
      type: ["string", "null"],
    },
  },
} as const satisfies SettingsSchema;
