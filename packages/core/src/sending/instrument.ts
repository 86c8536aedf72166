/** A request about to be made. */
export interface InstrumentedRequest {
  readonly url: string;
  /** From 1; above 1 it is a retry. */
  readonly attempt: number;
  readonly messages: number;
  /** Size of the body before compression. */
  readonly bytes: number;
  /** Further headers for this request, such as `traceparent`: add them here. */
  readonly headers: Record<string, string>;
}

/** How that request ended. */
export interface InstrumentedEnd {
  /** The HTTP status, or -1 where no answer came. */
  readonly status: number;
  /** Why it failed, where it did. */
  readonly reason?: string | undefined;
}

/**
 * Called before each request; what it returns is called when the request has ended. Enough for a span:
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
