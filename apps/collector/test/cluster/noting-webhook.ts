import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface NotingWebhook<Note> {
  readonly url: string;
  /** In the order of their arrival. Requests that were not answered with 200 are not noted. */
  readonly notes: readonly Note[];
  /** What the next requests are answered with. */
  status: number;
  /** Resolves when all of these were noted. */
  noted(wanted: readonly Note[]): Promise<void>;
  close(): void;
}

/** A webhook on loopback that notes the bodies that it gets. */
export async function notingWebhook<Note>(
  read: (body: unknown) => readonly Note[],
): Promise<NotingWebhook<Note>> {
  const notes: Note[] = [];
  const known = new Set<Note>();
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      response.writeHead(webhook.status).end();
      if (webhook.status === 200)
        for (const note of read(JSON.parse(Buffer.concat(chunks).toString()))) {
          notes.push(note);
          known.add(note);
        }
      for (const wake of waiting) wake();
      waiting.clear();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const webhook: NotingWebhook<Note> = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    notes,
    status: 200,
    async noted(wanted) {
      while (!wanted.every((one) => known.has(one)))
        await new Promise<void>((resolve) => {
          waiting.add(resolve);
        });
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return webhook;
}
