import { isIP } from "node:net";
import { LIMITS } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { ResolvedAddress, ResolveHost } from "../../sender/checked-connector.js";
import type { EgressPolicy } from "../../sender/egress-policy.js";
import type { OpenEndpoint } from "../../sender/endpoint.js";
import type {
  Destination,
  DestinationType,
  Flow,
  OutgoingMessage,
  Round,
  RoundOutcome,
} from "../destination.js";
import type { SecretBox } from "../secret-box.js";
import { carriesCredential } from "./request/custom-headers.js";
import { echoRedactor } from "./request/redact-echo.js";
import { batchBody, requestBody } from "./request/request-body.js";
import { headerWriter, tracedHeaders } from "./request/request-headers.js";
import { readCaFile } from "./settings/read-ca-file.js";
import type { JudgeUrl } from "./settings/read-webhooks.js";
import {
  describeWebhooksSettings,
  parseWebhooksSettings,
  type WebhooksSettings,
  withoutUrl,
} from "./settings/settings.js";
import { WEBHOOKS_SCHEMA } from "./settings/settings-schema.js";
import { WebhookBatches } from "./webhook-batches.js";
import type { Target } from "./webhook-target.js";
import { WebhookUrls } from "./webhook-urls.js";

type Policy = Pick<WebhooksSettings, "payload" | "order" | "concurrency" | "rateLimit">;

/** Posts each message in a request of its own. */
class WebhookDestination implements Destination {
  readonly flow: Flow;
  readonly #urls: WebhookUrls;
  readonly #policy: Policy;

  constructor(urls: WebhookUrls, policy: Policy) {
    const { order, concurrency, rateLimit } = policy;
    this.flow = { concurrency, order, ...(rateLimit === undefined ? {} : { perSecond: rateLimit }) };
    this.#urls = urls;
    this.#policy = policy;
  }

  async deliver(message: OutgoingMessage, round: Round): Promise<RoundOutcome> {
    const open = this.#urls.openFor(round);
    if (open.length === 0) return this.#urls.conclude([], round);
    const body = Buffer.from(requestBody(message, this.#policy));
    const results = await this.#urls.post(open, { id: message.messageId, body, round });
    return this.#urls.conclude(results, round);
  }

  close(): Promise<void> {
    return this.#urls.close();
  }
}

export interface WebhooksDeps {
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egress: EgressPolicy;
  readonly resolve: ResolveHost;
  readonly openEndpoint: OpenEndpoint;
}

/** Signed HTTP POSTs to one to five URLs. */
export function webhooksType({
  clock,
  secrets,
  egress,
  resolve,
  openEndpoint,
}: WebhooksDeps): DestinationType {
  const judgeUrl = judgeWith(egress, resolve, clock);
  return {
    type: "webhooks",
    name: "Webhooks",
    mode: "cloud",
    sources: ["web", "mobile", "server"],
    historical: { accepted: true },
    takesDeletions: "message",
    settingsSchema: WEBHOOKS_SCHEMA,
    parseSettings: (input, previous) => parseWebhooksSettings(input, previous, { secrets, judgeUrl }),
    describe: (settings) => describeWebhooksSettings(settings as WebhooksSettings, secrets),
    requestBody(settings, message) {
      const body = requestBody(message, settings as WebhooksSettings);
      return (settings as WebhooksSettings).batch === undefined ? body : batchBody([body]);
    },
    withoutTarget: (settings, url, reason, atMs) =>
      withoutUrl(settings as WebhooksSettings, url, reason, atMs),
    targets(settings) {
      const { webhooks } = settings as WebhooksSettings;
      return {
        called: webhooks.flatMap(({ url, disabled }) => (disabled === undefined ? [url] : [])),
        disabled: webhooks.flatMap(({ url, disabled }) =>
          disabled === undefined ? [] : [{ url, atMs: Date.parse(disabled.at) }],
        ),
      };
    },
    async open(kept) {
      const settings = kept as WebhooksSettings;
      const { standardWebhooks } = settings;
      const caPem = await caOf(settings);
      const extraCa = caPem === undefined ? undefined : await withUsualCertificates(caPem);
      const signing = settings.sharedSecrets.map((sealed) => secrets.open(sealed));
      const targets: Target[] = settings.webhooks
        .filter((entry) => entry.disabled === undefined)
        .map(({ url, headers }) => {
          const options = {
            custom: Object.entries(headers).map(([name, sealed]) => [name, secrets.open(sealed)] as const),
            secrets: signing,
            standardWebhooks,
            isInBatches: settings.batch !== undefined,
          };
          return {
            url,
            headers: headerWriter(options),
            traced: tracedHeaders(options),
            redactEcho: echoRedactor(
              options.custom.flatMap(([name, value]) => (carriesCredential(name) ? [value] : [])),
            ),
            endpoint: openEndpoint({
              url,
              clock,
              policy: egress,
              resolve,
              timeoutMs: LIMITS.webhookTimeoutMs,
              ...(extraCa === undefined ? {} : { extraCa }),
            }),
          };
        });
      const urls = new WebhookUrls(targets, settings, clock);
      const { batch } = settings;
      return batch === undefined
        ? new WebhookDestination(urls, settings)
        : new WebhookBatches(urls, { ...settings, batch }, clock);
    },
  };
}

/** Certificate authorities to trust in addition to the public ones. Older settings have only the file's path: rejects if that file is unusable. */
async function caOf({ caFile, caPem }: WebhooksSettings): Promise<string | undefined> {
  if (caPem !== undefined || caFile === undefined) return caPem;
  const read = await readCaFile(caFile);
  if (read.kind === "read") return read.pem;
  throw new Error(`${read.message} (${caFile})`);
}

/** Maximum DNS lookup time when settings are saved, so that a slow name server does not block the request. */
const LOOKUP_MS = 2_000;

/** A certificate to trust besides the usual ones. They are not loaded at the start: few destinations need them. */
async function withUsualCertificates(caPem: string): Promise<readonly string[]> {
  const { rootCertificates } = await import("node:tls");
  return [...rootCertificates, caPem];
}

/**
 * Applies the egress policy when settings are saved, so that you see a forbidden address at once. Accepts a name that does
 * not resolve yet, because delivery checks the address again.
 */
function judgeWith(egress: EgressPolicy, resolve: ResolveHost, clock: Clock): JudgeUrl {
  const addressesOf = (host: string): Promise<readonly ResolvedAddress[]> =>
    new Promise((done) => {
      const cancel = clock.after(LOOKUP_MS, () => done([]));
      const end = (addresses: readonly ResolvedAddress[]): void => {
        cancel();
        done(addresses);
      };
      resolve(host).then(end, () => end([]));
    });
  return async (url) => {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const addresses = isIP(host) === 0 ? await addressesOf(host) : [{ address: host, family: isIP(host) }];
    for (const { address } of addresses) {
      const verdict = egress.judge(address, host);
      if (!verdict.allowed) return verdict.message;
    }
    return undefined;
  };
}
