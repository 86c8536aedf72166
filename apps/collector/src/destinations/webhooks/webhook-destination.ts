import type { Destination, Flow, OutgoingMessage, Round, RoundOutcome } from "../destination.js";
import { requestBody } from "./request/request-body.js";
import type { WebhooksSettings } from "./settings/settings.js";
import type { WebhookUrls } from "./webhook-urls.js";

type Policy = Pick<WebhooksSettings, "payload" | "order" | "concurrency" | "rateLimit">;

/** Posts each message in a request of its own. */
export class WebhookDestination implements Destination {
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
