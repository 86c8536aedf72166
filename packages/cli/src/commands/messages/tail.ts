import { type AdminClient, AdminUnreachable, type LiveItem } from "@sluice/admin-client";
import { backoffDelayMs, systemClock } from "@sluice/resilience";
import type { Command } from "commander";
import { definedFields, FILTER_HELP, readCount, readFilterArgument, readInteger } from "../../arguments.js";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { collectUpTo, destinationNames } from "../../connection/find-by-name.js";
import { examples } from "../../definition.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson } from "../../terminal/terminal-text.js";
import { messageLine, outcomeLine, refusedHint, rejectedLine } from "./message-text.js";

interface TailOptions extends CommandOptions {
  readonly last: string;
  readonly count?: string;
  readonly outcomes: boolean;
}

export function tailCommand(io: Io): Command {
  const command = connectedCommand("tail", "show messages and their outcomes as they happen")
    .argument("[filter...]", "show only messages that match")
    .option("-n, --last <n>", "start with the last n messages that match", "0")
    .option("--count <n>", "stop after n events")
    .option("--no-outcomes", "show messages only")
    .addHelpText("after", FILTER_HELP)
    .action(async (filter: string[], options: TailOptions) => {
      const q = readFilterArgument(filter);
      const last = readInteger("--last", options.last, 0, 10_000);
      const count = readCount(options.count);
      const client = await connect(options, io);
      const { outcomes, json: asJson = false } = options;
      if (q !== undefined) io.err(`${io.errStyle.dim(refusedHint(io))}\n`);
      await new Tail({ client, q, last, count, outcomes, asJson, io }).run();
    });
  return examples(command, [
    ["Everything", "sluice tail"],
    [
      "One event of one user, as JSON lines",
      'sluice tail event:"Signed Up" user:42 --json | jq .message.properties',
    ],
    ["Only messages that failed", "sluice tail outcome:failed"],
  ]);
}

interface TailSettings {
  readonly client: AdminClient;
  readonly q: string | undefined;
  /** Stored messages to start with. */
  readonly last: number;
  /** Events after which it stops; Infinity for no limit. */
  readonly count: number;
  readonly outcomes: boolean;
  readonly asJson: boolean;
  readonly io: Io;
}

const RECONNECT = { initialMs: 250, maxMs: 5_000, jitter: "equal" } as const;

/** Prints the live stream, and reconnects where it left off. */
class Tail {
  readonly #settings: TailSettings;
  readonly #names: (id: string) => Promise<string>;
  /** Stored messages that were printed and that the stream may bring again. */
  readonly #printedBefore = new Set<string>();
  #printed = 0;
  /** Connections in a row that brought nothing. */
  #failures = 0;
  #lastEventId: string | undefined;

  constructor(settings: TailSettings) {
    this.#settings = settings;
    this.#names = destinationNames(settings.client);
  }

  async run(): Promise<void> {
    const { io } = this.#settings;
    while (!io.interrupted.aborted && !this.#isDone()) {
      try {
        await this.#readStream();
        if (this.#isDone()) return;
      } catch (error) {
        if (io.interrupted.aborted) return;
        if (!this.#canReconnect(error)) throw error;
      }
      if (io.interrupted.aborted) return;
      this.#failures += 1;
      io.err(`${io.errStyle.dim("the stream ended, reconnecting")}\n`);
      const delayMs = backoffDelayMs(this.#failures, RECONNECT, systemClock.random());
      await systemClock.sleep(delayMs, io.interrupted).catch(() => {});
    }
  }

  #isDone(): boolean {
    return this.#printed >= this.#settings.count;
  }

  /** Network errors are transient, unless the first connection fails: then the address is probably wrong. */
  #canReconnect(error: unknown): boolean {
    const isNetworkError = error instanceof AdminUnreachable || error instanceof TypeError;
    return isNetworkError && (this.#failures > 0 || this.#hasStarted());
  }

  #hasStarted(): boolean {
    return this.#lastEventId !== undefined || this.#printed > 0;
  }

  /** Prints one connection's events until it ends or enough were printed. */
  async #readStream(): Promise<void> {
    const { client, q, last, io } = this.#settings;
    const closing = new AbortController();
    let reportOpen = (): void => {};
    const opened = new Promise<void>((resolve) => {
      reportOpen = resolve;
    });
    const stream = client.live({
      signal: AbortSignal.any([io.interrupted, closing.signal]),
      onOpen: () => reportOpen(),
      ...definedFields({ q, lastEventId: this.#lastEventId }),
    });
    let next = stream.next();
    try {
      // The stream is opened before the last messages are read, so that none is missed. Those in both are printed once.
      await Promise.race([opened, next]);
      if (last > 0 && !this.#hasStarted()) await this.#printLast();
      for (; !this.#isDone(); next = stream.next()) {
        const { done, value: item } = await next;
        if (done) return;
        this.#failures = 0;
        this.#lastEventId = item.id ?? this.#lastEventId;
        const { event } = item;
        if (event.kind === "message" && this.#printedBefore.delete(event.messageId)) continue;
        await this.#print(event);
      }
    } finally {
      closing.abort();
      // Aborting rejects the read that is in progress.
      next.catch(() => {});
    }
  }

  /** Prints the newest stored messages that match, oldest first. */
  async #printLast(): Promise<void> {
    const { client, q, last } = this.#settings;
    const { items } = await collectUpTo(last, ({ limit, cursor }) =>
      client.messages.list({ q, limit: Math.min(500, limit), cursor }),
    );
    for (const message of items.toReversed()) {
      this.#printedBefore.add(message.messageId);
      await this.#print({ kind: "message", ...message });
      if (this.#isDone()) return;
    }
  }

  async #print(event: LiveItem["event"]): Promise<void> {
    const { outcomes, asJson, io } = this.#settings;
    if (event.kind === "outcome" && !outcomes) return;
    this.#printed += 1;
    await io.out(asJson ? `${terminalJson(event)}\n` : await eventLine(event, io, this.#names));
  }
}

async function eventLine(
  event: LiveItem["event"],
  io: Io,
  names: (id: string) => Promise<string>,
): Promise<string> {
  switch (event.kind) {
    case "message":
      return messageLine(event, io.style, io.columns);
    case "outcome":
      return outcomeLine(event, await names(event.destinationId), io.style);
    case "rejected":
      return rejectedLine(event, io.style);
    case "dropped":
      return io.style.yellow(
        `… ${event.isMinimum ? "at least " : ""}${event.messages} messages and ${event.outcomes} outcomes are not shown: they came too fast, or while disconnected\n`,
      );
    default:
      return event satisfies never;
  }
}
