import type { HttpAnswer, HttpRequest } from "../../http/routing/route.js";
import { answerOf, type Owners } from "./ask-owners.js";

/** Between the positions of partitions in an event's id. */
const BETWEEN = "|";
const ID = /^id: (.*)$/m;
const END = { done: true, value: undefined } as const;

/** The live streams of all partitions as one. It ends when one of them does; the reader then resumes it. */
export async function mergedLive(owners: Owners, request: HttpRequest, path: string): Promise<HttpAnswer> {
  const last = request.headers["last-event-id"];
  const given = typeof last === "string" ? last.split(BETWEEN) : [];
  const positions = owners.partitions.map((partition) => given[partition] ?? "");
  const over = new AbortController();
  const signal = AbortSignal.any([request.signal, over.signal]);
  const opened = await Promise.all(
    owners.partitions.map((partition) =>
      owners.stream(partition, request, { path, signal, lastEventId: positions[partition] || undefined }),
    ),
  ).catch((error: unknown) => {
    over.abort();
    throw error;
  });
  const streams: AsyncIterable<Uint8Array>[] = [];
  for (const one of opened) {
    if (Symbol.asyncIterator in one) streams.push(one);
    else {
      over.abort();
      return answerOf(one);
    }
  }
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
    async stream(write, _signal, drained) {
      const events = streams.map(eventsOf);
      // Each begins with its position, so that an event of one partition names the places in all others.
      const first = await Promise.all(events.map((one) => one.next().catch(() => END)));
      const forward = async (partition: number, event: string): Promise<void> => {
        const id = ID.exec(event)?.[1];
        if (id !== undefined) positions[partition] = id;
        const named = id === undefined ? event : event.replace(ID, `id: ${positions.join(BETWEEN)}`);
        if (!write(named)) await drained();
      };
      const forwardAll = async (partition: number): Promise<void> => {
        for await (const event of events[partition] ?? []) await forward(partition, event);
      };
      if (first.every(({ done }) => done !== true)) {
        for (const [partition, { value }] of first.entries())
          positions[partition] = ID.exec(value ?? "")?.[1] ?? positions[partition] ?? "";
        await forward(0, first[0]?.value ?? "");
        await Promise.race(streams.map((_, partition) => forwardAll(partition).catch(() => {})));
      }
      over.abort();
    },
  };
}

/** The events of a stream, each with the empty line that ends it. */
async function* eventsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
      yield rest.slice(0, end + 2);
      rest = rest.slice(end + 2);
    }
  }
}
