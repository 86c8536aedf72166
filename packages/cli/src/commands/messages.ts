import type { DeliveryStateView, MessageView } from "@sluice/protocol";
import type { Command } from "commander";
import { examples, newCommand, newGroup } from "../command.js";
import { type ConnectionOptions, connect, withConnection } from "../connection.js";
import { FILTER_HELP, readFilterArgument } from "../filter-argument.js";
import type { Io } from "../io.js";
import { messageLine, rejectedLine, stateWord } from "../message-lines.js";
import { readDuration, readInteger } from "../numbers.js";
import { show } from "../show.js";
import { terminalJson, terminalText } from "../terminal-text.js";

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
          const page = await client.messages.list({ q, limit, from, to });
          await show(io, options.json, page, () =>
            page.items
              .map((item) => {
                const states = item.outcomes.map(({ state }) => stateWord(state, io.style)).join(" ");
                return `${messageLine(item, io.style, io.columns - 12).trimEnd()}  ${states}\n`;
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
        const message = await (await connect(options, io)).messages.get(messageId, options.source);
        await show(io, options.json, message, () => detail(message, io));
      }),
  );
  command.addCommand(
    sub("wait", "wait until a message is in a state: for tests")
      .argument("<messageId>")
      .option(
        "--state <state>",
        "accepted, rejected, delivered, pending, failed, filtered, skipped or suppressed",
        "delivered",
      )
      .option("--destination <id>", "only this destination's outcome counts")
      .option("--timeout <duration>", "give up after this long", "30s")
      .action(
        async (
          messageId: string,
          options: Options & { state: string; destination?: string; timeout: string },
        ) => {
          const timeoutMs = readDuration("--timeout", options.timeout);
          const message = await (await connect(options, io)).messages.wait({
            messageId,
            state: options.state as DeliveryStateView,
            destinationId: options.destination,
            timeoutMs,
          });
          await show(io, options.json, message, () => detail(message, io));
        },
      ),
  );
  return examples(command, [
    ["What failed today", "sluice messages list outcome:failed --from 2026-11-21"],
    ["In a test: wait for the delivery, at most five seconds", "sluice messages wait m-42 --timeout 5s"],
  ]);
}

function detail(message: MessageView, io: Io): string {
  const { style } = io;
  const head = `${style.bold(terminalText(message.messageId ?? ""))}  ${message.state === "rejected" ? style.red("refused") : "accepted"} ${message.receivedAt}  source ${terminalText(message.sourceId)}\n`;
  if (message.state === "rejected")
    return `${head}${message.issues.map(({ code, message: why }) => `  ${style.red(terminalText(code))} ${terminalText(why)}\n`).join("")}${terminalText(message.excerpt)}\n`;
  const outcomes = message.outcomes.map((outcome) => {
    const next = outcome.nextAttemptAt === undefined ? "" : `, again at ${outcome.nextAttemptAt}`;
    const attempts = outcome.attempts.map(
      ({ attempt, at, url, status, error, latencyMs }) =>
        `      ${attempt}. ${at}  ${status ?? style.red(terminalText(error?.code ?? ""))}  ${Math.round(latencyMs)} ms  ${terminalText(url)}${error === undefined ? "" : `  ${terminalText(error.message)}`}\n`,
    );
    return `  → ${stateWord(outcome.state, style)} ${terminalText(outcome.destinationId)}: ${terminalText(outcome.reason)}${next}\n${attempts.join("")}`;
  });
  return `${head}${outcomes.join("")}${terminalJson(message.message, 2)}\n`;
}
