import { AdminError } from "@sluice/admin-client";
import type { DeliveryStateView, MessageSummary, MessageView, OutcomeSummary } from "@sluice/protocol";
import type { Command } from "commander";
import { FILTER_HELP, readFilterArgument } from "../../arguments/filter-argument.js";
import { readDuration, readInteger } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { namesOf } from "../../connection/destination-names.js";
import { findByName } from "../../connection/find-by-name.js";
import { exampleOfEach, examples, newCommand, newGroup } from "../../definition/command.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { PLAIN } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { messageLine, outcomeCounts, rejectedLine, stateWord } from "./message-lines.js";

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

export function messagesCommand(io: Io): Command {
  const command = newGroup("messages", "find messages and see what became of them");
  const sub = (name: string, summary: string): Command => withConnection(newCommand(name, summary));

  command.addCommand(
    sub("list", "stored messages, newest first")
      .argument("[filter...]", "only messages that match")
      .option("-n, --limit <n>", "at most so many", "50")
      .option("--from <time>", "received not before this time (ISO 8601)")
      .option("--to <time>", "received before this time (ISO 8601)")
      .option("--rejected", "the refused ones instead, with what is wrong with each")
      .addHelpText("after", FILTER_HELP)
      .action(
        async (
          filter: string[],
          options: Options & { limit: string; from?: string; to?: string; rejected?: boolean },
        ) => {
          const q = readFilterArgument(filter);
          const limit = readInteger("--limit", options.limit, 1, 500);
          const { from, to } = options;
          const client = await connect(options, io);
          if (options.rejected) {
            const page = await client.messages.rejected({ limit, from, to });
            await show(io, options.json, page, () =>
              page.items.map((item) => rejectedLine(item, io.style)).join(""),
            );
            return;
          }
          const items: MessageSummary[] = [];
          let cursor: string | undefined;
          // With a filter that few messages match a page may be short and have a next one.
          do {
            const page = await client.messages.list({ q, limit: limit - items.length, from, to, cursor });
            items.push(...page.items);
            cursor = page.nextCursor;
          } while (cursor !== undefined && items.length < limit);
          const found = { items, ...(cursor === undefined ? {} : { nextCursor: cursor }) };
          await show(io, options.json, found, () =>
            items
              .map((item) => {
                const room = io.columns - outcomeCounts(item.outcomes, PLAIN).length - 2;
                const counts = outcomeCounts(item.outcomes, io.style);
                return `${messageLine(item, io.style, room).trimEnd()}  ${counts}\n`;
              })
              .join(""),
          );
        },
      ),
  );
  command.addCommand(
    sub(
      "get",
      "one message with its outcome and attempts at every destination; a refused one with its reasons",
    )
      .argument("<messageId>")
      .option("--source <id>", "chooses where two sources sent the same id")
      .action(async (messageId: string, options: Options & { source?: string }) => {
        const client = await connect(options, io);
        const message = await client.messages.get(messageId, options.source);
        const names = options.json ? (id: string) => id : await namesOf(client, destinationsOf(message));
        await show(io, options.json, message, () => detail(message, names, io));
      }),
  );
  command.addCommand(
    sub(
      "wait",
      "wait until a message is in a state, at all its destinations: for tests. A destination that filtered, skipped or suppressed it does not count",
    )
      .argument("<messageId>")
      .option(
        "--state <state>",
        "accepted, rejected, delivered, pending, failed, filtered, skipped or suppressed",
        "delivered",
      )
      .option("--destination <destination>", "only this destination's outcome counts: id or name")
      .option("--any", "one destination that has the state is enough")
      .option("--timeout <duration>", "give up after this long", "30s")
      .action(
        async (
          messageId: string,
          options: Options & { state: string; destination?: string; any?: boolean; timeout: string },
        ) => {
          const timeoutMs = readDuration("--timeout", options.timeout);
          const client = await connect(options, io);
          const { destination } = options;
          const waiting = client.messages.wait({
            messageId,
            state: options.state as DeliveryStateView,
            destinationId:
              destination === undefined
                ? undefined
                : (await findByName("destination", destination, (page) => client.destinations.list(page))).id,
            destinations: options.any === true ? "any" : "all",
            timeoutMs,
          });
          const message = await waiting.catch(async (error: unknown) => {
            const now = options.json ? undefined : stateAtEnd(error);
            if (now === undefined || !(error instanceof AdminError)) throw error;
            const names = await namesOf(client, destinationsOf(now));
            io.err(summary(now, names, io));
            // The collector knows a destination by its id, and people by its name.
            const said = destinationsOf(now).reduce(
              (text, id) => text.replaceAll(id, names(id)),
              error.message,
            );
            throw new AdminError(error.status, { ...error.details, message: said });
          });
          const names = options.json ? (id: string) => id : await namesOf(client, destinationsOf(message));
          await show(io, options.json, message, () => summary(message, names, io));
        },
      ),
  );
  exampleOfEach(command, {
    list: "sluice messages list type:track outcome:failed --from 2026-11-21",
    get: "sluice messages get m-42",
    wait: "sluice messages wait m-42 --timeout 5s",
  });
  return examples(command, [
    ["What failed today", "sluice messages list outcome:failed --from 2026-11-21"],
    ["In a test: wait for the delivery, at most five seconds", "sluice messages wait m-42 --timeout 5s"],
  ]);
}

const WAIT_CODES: readonly string[] = ["wait_timed_out", "wait_impossible"];

/** How far the message had come when the wait ended; undefined: it was not there, or something else failed. */
function stateAtEnd(error: unknown): MessageView | undefined {
  if (!(error instanceof AdminError) || !WAIT_CODES.includes(error.code)) return undefined;
  return (error.details.now ?? undefined) as MessageView | undefined;
}

type NameOf = (destinationId: string) => string;

function destinationsOf(message: MessageView): string[] {
  return message.state === "rejected" ? [] : message.outcomes.map(({ destinationId }) => destinationId);
}

/** A message and how it ended at each destination: a line each. */
function summary(message: MessageView, names: NameOf, io: Io): string {
  if (message.state === "rejected") return head(message, io);
  return head(message, io) + message.outcomes.map((outcome) => outcomeText(outcome, names, io)).join("");
}

function detail(message: MessageView, names: NameOf, io: Io): string {
  const { style } = io;
  if (message.state === "rejected") return `${head(message, io)}${terminalText(message.excerpt)}\n`;
  const outcomes = message.outcomes.map((outcome) => {
    const attempts = outcome.attempts.map(
      ({ attempt, at, url, status, error, latencyMs }) =>
        `      ${attempt}. ${at}  ${status ?? style.red(terminalText(error?.code ?? ""))}  ${Math.round(latencyMs)} ms  ${terminalText(url)}${error === undefined ? "" : `  ${terminalText(error.message)}`}\n`,
    );
    return outcomeText(outcome, names, io) + attempts.join("");
  });
  return `${head(message, io)}${outcomes.join("")}${terminalJson(message.message, 2)}\n`;
}

function head(message: MessageView, io: Io): string {
  const { style } = io;
  const state = message.state === "rejected" ? style.red("refused") : "accepted";
  const line = `${style.bold(terminalText(message.messageId ?? ""))}  ${state} ${message.receivedAt}  source ${terminalText(message.sourceId)}\n`;
  if (message.state !== "rejected") return line;
  const issues = message.issues.map(
    ({ code, message: why }) => `  ${style.red(terminalText(code))} ${terminalText(why)}\n`,
  );
  return line + issues.join("");
}

function outcomeText(
  { state, destinationId, reason, nextAttemptAt }: OutcomeSummary,
  names: NameOf,
  io: Io,
): string {
  const next = nextAttemptAt === undefined ? "" : `, again at ${nextAttemptAt}`;
  return `  → ${stateWord(state, io.style)} ${terminalText(names(destinationId))}: ${terminalText(reason)}${next}\n`;
}
