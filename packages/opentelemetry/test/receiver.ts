import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as OTLP/JSON has it, with what the tests compare. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly traceState?: string;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly logs: readonly { readonly body: { readonly stringValue: string } }[];
  readonly resources: readonly string[];
  /** Content types of the requests. */
  readonly contentTypes: ReadonlySet<string>;
}

/** An OTLP/HTTP receiver on the loopback interface. It reads JSON; of other bodies it only keeps the content type. */
export async function startReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const logs: { body: { stringValue: string } }[] = [];
  const resources: string[] = [];
  const contentTypes = new Set<string>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const type = String(request.headers["content-type"]);
    contentTypes.add(`${request.url} ${type}`);
    if (type === "application/json") {
      const { resourceSpans = [], resourceLogs = [] } = JSON.parse(Buffer.concat(chunks).toString()) as {
        resourceSpans?: { resource: unknown; scopeSpans: { spans: ReceivedSpan[] }[] }[];
        resourceLogs?: { resource: unknown; scopeLogs: { logRecords: (typeof logs)[number][] }[] }[];
      };
      for (const { scopeSpans, resource } of resourceSpans) {
        resources.push(JSON.stringify(resource));
        spans.push(...scopeSpans.flatMap((scope) => scope.spans));
      }
      for (const { scopeLogs } of resourceLogs) logs.push(...scopeLogs.flatMap((scope) => scope.logRecords));
    }
    response.writeHead(200, { "content-type": type }).end(type === "application/json" ? "{}" : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    logs,
    resources,
    contentTypes,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
