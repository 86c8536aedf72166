import { AsyncLocalStorage } from "node:async_hooks";
import * as api from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import { Analytics } from "@sluice/node";
import { afterAll, beforeAll, expect, test } from "vitest";

/** What an application's OpenTelemetry does: it keeps the active span across `await`. */
class AsyncContexts implements api.ContextManager {
  readonly #storage = new AsyncLocalStorage<api.Context>();
  active(): api.Context {
    return this.#storage.getStore() ?? api.ROOT_CONTEXT;
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: api.Context,
    run: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(context, () => run.apply(self, args));
  }
  bind<T>(_: api.Context, target: T): T {
    return target;
  }
  enable(): this {
    return this;
  }
  disable(): this {
    return this;
  }
}

beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncContexts());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  api.trace.setGlobalTracerProvider(new TracerProvider());
});
afterAll(() => {
  api.context.disable();
  api.propagation.disable();
  api.trace.disable();
});

/** What the SDK would send. */
function recorder() {
  const sent: { readonly event?: string; readonly context: Readonly<Record<string, unknown>> }[] = [];
  const analytics = new Analytics({
    writeKey: "wk_test",
    openTelemetry: api,
    fetch: async (_: unknown, init?: { readonly body?: unknown }) => {
      sent.push(...JSON.parse(String(init?.body)).batch);
      return new Response('{"success":true}', { status: 200 });
    },
  });
  return { sent, analytics };
}

test("messages have the context of the span in which they were tracked, with a real OpenTelemetry SDK", async () => {
  const { sent, analytics } = recorder();
  const tracer = api.trace.getTracer("shop");
  const spans = new Map<string, api.SpanContext>();
  const checkOut = (event: string): Promise<void> =>
    tracer.startActiveSpan(event, async (span) => {
      spans.set(event, span.spanContext());
      await new Promise((resolve) => setImmediate(resolve));
      analytics.track({ userId: "u1", event });
      span.end();
    });
  // Two at once: neither has the other's span.
  await Promise.all([checkOut("first"), checkOut("second")]);
  analytics.track({ userId: "u1", event: "outside" });
  await analytics.close();

  expect(sent.map(({ event }) => event).sort()).toEqual(["first", "outside", "second"]);
  for (const { event = "", context } of sent) {
    const span = spans.get(event);
    expect([event, context.traceparent]).toEqual([event, span && `00-${span.traceId}-${span.spanId}-01`]);
  }
});
