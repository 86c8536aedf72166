import type { JsonObject } from "@sluice/protocol";
import type { BeforeSend } from "./before-send.js";

/** What `traceContext` uses of `@opentelemetry/api`. */
export interface TraceApi {
  readonly context: { active(): unknown };
  readonly propagation: {
    // biome-ignore lint/suspicious/noExplicitAny: the API's own type of a context cannot be named without the package
    inject(context: any, carrier: Record<string, string>): void;
  };
}

/**
 * A `beforeSend` function that adds the active span's `traceparent` and `tracestate` to the message's `context`, so that the
 * collector's spans and the webhook's receiver join its trace. Without an active span, the message stays as it is.
 *
 * @example
 * import * as api from "@opentelemetry/api";
 * const analytics = new Analytics({ beforeSend: traceContext(api) });
 */
export function traceContext({ context, propagation }: TraceApi): BeforeSend {
  return (message) => {
    const carrier: Record<string, string> = {};
    propagation.inject(context.active(), carrier);
    const { traceparent, tracestate } = carrier;
    if (traceparent === undefined) return message;
    const added: JsonObject = tracestate === undefined ? { traceparent } : { traceparent, tracestate };
    return { ...message, context: { ...added, ...message.context } };
  };
}
