/** A request that is about to be made. */
export interface InstrumentedRequest {
  readonly url: string;
  /** From 1. Above 1 it is a retry. */
  readonly attempt: number;
  readonly messages: number;
  /** Size of the body before compression. */
  readonly bytes: number;
  /** Headers of this request. Add your own here, such as `traceparent`. */
  readonly headers: Record<string, string>;
}

/** How the request ended. */
export interface InstrumentedEnd {
  /** The HTTP status, or -1 if no answer came. */
  readonly status: number;
  /** Why it failed. Absent if it succeeded. */
  readonly reason?: string | undefined;
}

/**
 * Called before each request. Return a function to be called when the request has ended. Use it for spans and trace headers:
 *
 * @example
 * instrument: ({ url, attempt, messages, headers }) => {
 *   const span = tracer.startSpan("POST /v1/batch", { kind: SpanKind.CLIENT, attributes: { "url.full": url, attempt, messages } });
 *   propagation.inject(trace.setSpan(context.active(), span), headers);
 *   return ({ status, reason }) => {
 *     span.setAttribute("http.response.status_code", status);
 *     if (reason) span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
 *     span.end();
 *   };
 * }
 */
export type Instrument = (request: InstrumentedRequest) => ((end: InstrumentedEnd) => void) | undefined;
