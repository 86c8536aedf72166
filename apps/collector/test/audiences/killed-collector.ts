import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const LOADER = new URL("../../../../scripts/source-loader.mjs", import.meta.url).href;
const CHILD = fileURLToPath(new URL("./collector-child.ts", import.meta.url));

interface Running {
  readonly process: ChildProcess;
  readonly url: string;
  readonly adminToken: string;
  readonly writeKey: string;
  readonly sourceId: string;
}

/** A collector that is killed with SIGKILL and started again on the same folder, as often as the test wants. */
export class KilledCollector {
  readonly #directory: string;
  #running: Running;

  private constructor(directory: string, running: Running) {
    this.#directory = directory;
    this.#running = running;
  }

  static async start(): Promise<KilledCollector> {
    const directory = await mkdtemp(join(tmpdir(), "sluice-killed-"));
    return new KilledCollector(directory, await run(directory));
  }

  get sourceId(): string {
    return this.#running.sourceId;
  }

  /** Ends at once, whatever is under way, and begins again. */
  async kill(): Promise<void> {
    await end(this.#running.process);
    this.#running = await run(this.#directory);
  }

  async close(): Promise<void> {
    await end(this.#running.process);
    await rm(this.#directory, { recursive: true });
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const { url, adminToken } = this.#running;
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(answer));
    return answer;
  }

  /** Sends a batch as a client does: again, with the same ids, until it is answered. */
  async send(batch: readonly object[]): Promise<void> {
    for (;;) {
      const { url, writeKey } = this.#running;
      try {
        const response = await fetch(`${url}/v1/batch`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
          body: JSON.stringify({ batch }),
        });
        if (response.ok) return;
      } catch {
        // Killed under way: whether it was taken is not known.
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Everything that audiences have sent, oldest first. */
  async told(): Promise<
    { userId: string; messageId: string; traits?: Record<string, unknown>; event?: string }[]
  > {
    const items = [];
    let cursor = "";
    do {
      const page = await this.api("GET", `/messages?sourceId=src_audiences&limit=500&cursor=${cursor}`);
      items.push(...page.items);
      cursor = page.nextCursor ?? "";
    } while (cursor !== "");
    // A page has the messages whole: asked for one by one, thousands of connections would open at once.
    return items.reverse().map(({ message }) => message);
  }
}

async function run(directory: string): Promise<Running> {
  const child = spawn(process.execPath, ["--no-warnings", "--import", LOADER, CHILD, directory], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    return { process: child, ...JSON.parse(line) };
  }
  throw new Error("the collector ended before it was ready");
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
