import { formatTime, LIMITS } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { SecretBox } from "../../destinations/secret-box.js";
import { classifyExchange, type Verdict } from "../../destinations/webhooks/classify-exchange.js";
import { headerWriter } from "../../destinations/webhooks/request/request-headers.js";
import type { ResolveHost } from "../../sender/checked-connector.js";
import type { EgressPolicy } from "../../sender/egress-policy.js";
import type { OpenEndpoint } from "../../sender/endpoint.js";
import type { WebhookSettings } from "../settings/notification-settings.js";
import type { Channel, ChannelResult, Outgoing } from "./channel.js";

export interface ChannelDeps {
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egress: EgressPolicy;
  readonly resolve: ResolveHost;
  readonly openEndpoint: OpenEndpoint;
}

/** Posts notifications as JSON, signed as the webhooks of destinations are, and only where those may go. */
export function webhookChannel(
  { url, sharedSecret }: WebhookSettings,
  { clock, secrets, egress, resolve, openEndpoint }: ChannelDeps,
): Channel {
  return {
    name: "webhook",
    async send(outgoing): Promise<ChannelResult> {
      let write: ReturnType<typeof headerWriter>;
      try {
        write = headerWriter({ custom: [], secrets: [secrets.open(sharedSecret)], standardWebhooks: true });
      } catch (error) {
        return { kind: "failed", detail: (error as Error).message, latencyMs: 0 };
      }
      const endpoint = openEndpoint({
        url,
        clock,
        policy: egress,
        resolve,
        timeoutMs: LIMITS.webhookTimeoutMs,
      });
      try {
        const body = Buffer.from(JSON.stringify(payloadOf(outgoing)));
        const headers = write(outgoing.id, outgoing.attempt, body, clock.now());
        const exchange = await endpoint.post(headers, body);
        const verdict = classifyExchange(exchange);
        const { latencyMs } = exchange;
        if (verdict.kind === "accepted") return { kind: "sent", detail: verdict.reason, latencyMs };
        return { kind: "failed", detail: failureText(verdict), latencyMs };
      } finally {
        await endpoint.close();
      }
    },
  };
}

function failureText(verdict: Exclude<Verdict, { kind: "accepted" }>): string {
  if (verdict.kind === "aborted") return "The collector stopped";
  if (verdict.kind === "gone") return "The receiver responded with 410 Gone. Check the URL";
  return verdict.error.message;
}

/** The body. `text` is also what chat services such as Slack show. */
function payloadOf({ id, atMs, event, kind, incidentId, destinationId, title, text }: Outgoing): object {
  return {
    type: "notification",
    id,
    timestamp: formatTime(atMs),
    event,
    kind,
    incidentId,
    destinationId,
    title,
    text,
  };
}
