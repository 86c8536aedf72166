import { type AdminClient, AdminUnreachable, type LiveItem } from "@sluice/admin-client";
import type { MessageSummary } from "@sluice/protocol";
import { backoffDelayMs, systemClock } from "@sluice/resilience";
import type { Command } from "commander";
import { FILTER_HELP, readFilterArgument } from "../../arguments/filter-argument.js";
import { readInteger } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { destinationNames } from "../../connection/destination-names.js";
import { examples, newCommand } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson } from "../../terminal/terminal-text.js";
import { messageLine, outcomeLine, rejectedLine } from "./message-lines.js";

interface TailOptions extends ConnectionOptions {
  readonly last: string;
  readonly count?: string;
  readonly outcomes: boolean;
  readonly json?: boolean;
}

export function tailCommand(io: Io): Command {
  const command = withConnection(newCommand("tail", "show messages and what becomes of them, as it happens"))
    .argument("[filter...]", "only messages that match")
    .option("-n, --last <n>", "begin with the last n messages that match", "0")
    .option("--count <n>", "end after n events")
    .option("--no-outcomes", "messages only, not what became of them")
    .addHelpText("after", FILTER_HELP)
    .action((filter: string[], options: TailOptions) => tail(filter, options, io));
  return examples(command, [
    ["Everything", "sluice tail"],
    [
      "One event of one user, as JSON lines",
      'sluice tail event:"Signed Up" user:42 --json | jq .message.properties',
    ],
    ["What fails", "sluice tail outcome:failed"],
  ]);
}

const RECONNECT = { initialMs: 250, maxMs: 5_000 };

async function tail(filter: string[], options: TailOptions, io: Io): Promise<void> {
  const q = readFilterArgument(filter);
  const last = readInteger("--last", options.last, 0, 10_000);
  const count =
    options.count === undefined ? Number.POSITIVE_INFINITY : readInteger("--count", options.count, 1, 1e9);
  const client = await connect(options, io);
  const names = destinationNames(client);
  let shown = 0;
  const print = async (item: LiveItem): Promise<void> => {
    const { event } = item;
    if (event.kind === "outcome" && !options.outcomes) return;
    shown += 1;
    if (options.json) await io.out(`${terminalJson(event)}\n`);
    else await io.out(await lineOf(item, io, names));
  };

  let lastEventId: string | undefined;
  /** Shown already, of those that the stream will bring again. */
  const seen = new Set<string>();
  const showLast = async (): Promise<void> => {
    for (const message of await lastMessages(client, q, last)) {
      seen.add(message.messageId);
      await print({ event: { kind: "message", ...message } });
      if (shown >= count) return;
    }
  };

  for (let failures = 0; !io.interrupted.aborted && shown < count; ) {
    const closing = new AbortController();
    let next: Promise<IteratorResult<LiveItem>> | undefined;
    try {
      let opened = (): void => {};
      const isOpen = new Promise<void>((resolve) => {
        opened = resolve;
      });
      const stream = client.live({
        signal: AbortSignal.any([io.interrupted, closing.signal]),
        onOpen: () => opened(),
        ...(q === undefined ? {} : { q }),
        ...(lastEventId === undefined ? {} : { lastEventId }),
      });
      next = stream.next();
      // The stream is open before the last ones are read: what comes in between is in both, and shown once.
      await Promise.race([isOpen, next]);
      if (last > 0 && lastEventId === undefined && shown === 0) await showLast();
      for (; shown < count; next = stream.next()) {
        const { done, value: item } = await next;
        if (done) break;
        failures = 0;
        lastEventId = item.id ?? lastEventId;
        if (item.event.kind === "message" && seen.delete(item.event.messageId)) continue;
        await print(item);
      }
      if (shown >= count) return;
      failures += 1;
    } catch (error) {
      if (io.interrupted.aborted) return;
      const isPassing = error instanceof AdminUnreachable || error instanceof TypeError;
      if (!isPassing || (failures === 0 && lastEventId === undefined && shown === 0)) throw error;
      failures += 1;
    } finally {
      // A read that is under way ends with it; what it says then is of no interest.
      closing.abort();
      next?.catch(() => {});
    }
    if (io.interrupted.aborted) return;
    io.err(`${io.errStyle.dim("the stream ended; connecting again where it was")}\n`);
    await systemClock
      .sleep(
        backoffDelayMs(failures, { ...RECONNECT, jitter: "equal" }, systemClock.random()),
        io.interrupted,
      )
      .catch(() => {});
  }
}

/** The newest messages that match, oldest first. */
async function lastMessages(
  client: AdminClient,
  q: string | undefined,
  count: number,
): Promise<MessageSummary[]> {
  const found: MessageSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.messages.list({ q, limit: Math.min(500, count - found.length), cursor });
    found.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length < count);
  return found.reverse();
}

async function lineOf({ event }: LiveItem, io: Io, names: (id: string) => Promise<string>): Promise<string> {
  switch (event.kind) {
    case "message":
      return messageLine(event, io.style, io.columns);
    case "outcome":
      return outcomeLine(event, await names(event.destinationId), io.style);
    case "rejected":
      return rejectedLine(event, io.style);
    case "dropped":
      return io.style.yellow(
        `… ${event.isMinimum ? "at least " : ""}${event.messages} messages and ${event.outcomes} outcomes are not shown: they came faster than they could be printed, or while there was no connection\n`,
      );
    default:
      return event satisfies never;
  }
}
