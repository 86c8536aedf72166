import type { JsonObject } from "@sluice/protocol";
import type { OutgoingMessage } from "./before-send.js";

/** What the option `openTelemetry` uses of `@opentelemetry/api`. */
export interface TraceApi {
  readonly context: { active(): unknown };
  readonly propagation: {
    // biome-ignore lint/suspicious/noExplicitAny: the API's own type of a context cannot be named without the package
    inject(context: any, carrier: Record<string, string>): void;
  };
}

/** Adds the active span's `traceparent` and `tracestate` to the message's `context`. Without an active span, the message stays as it is. */
export function traceContext({
  context,
  propagation,
}: TraceApi): (message: OutgoingMessage) => OutgoingMessage {
  return (message) => {
    const carrier: Record<string, string> = {};
    propagation.inject(context.active(), carrier);
    const { traceparent, tracestate } = carrier;
    if (traceparent === undefined) return message;
    const added: JsonObject = tracestate === undefined ? { traceparent } : { traceparent, tracestate };
    return { ...message, context: { ...added, ...message.context } };
  };
}
