import type { DestinationView, TestSendView } from "@sluice/control-api";
import type { Command } from "commander";
import { type DestinationHealth, healthWord, readHealth } from "../../connection/destination-health.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { stateWord } from "../../terminal/state-word.js";
import { table } from "../../terminal/table.js";
import { clip, terminalText } from "../../terminal/terminal-text.js";
import type { ResourceCommands } from "./managed-resource.js";

export function testCommand({ forOne }: ResourceCommands<DestinationView>, io: Io): Command {
  return forOne(
    "test",
    "send a test message through the normal delivery path and show its outcome",
    async ({ client, item }, options) => {
      const sent = await client.destinations.test(item.id);
      await show(io, options.json, sent, () => testText(sent, io));
      if (sent.state !== "delivered")
        throw new CommandFailure("partly", `The test message was not delivered: ${sent.reason}`);
    },
  );
}

export function statusCommand({ forOne }: ResourceCommands<DestinationView>, io: Io): Command {
  return forOne(
    "status",
    "show a destination's health, why and since when, its backlog, each URL and the last error",
    async ({ client, item }, options) => {
      const health = await readHealth(client, item);
      await show(io, options.json, health, () => healthText(health, io));
    },
  );
}

function testText({ state, reason, attempts }: TestSendView, io: Io): string {
  const lines = attempts.map(({ url, status, error, latencyMs, response }) => {
    const body = state !== "delivered" && response ? `  ${clip(terminalText(response), 200)}` : "";
    const answer = status ?? terminalText(error?.message ?? "no response");
    return `  ${terminalText(url)}  ${answer}  ${Math.round(latencyMs)} ms${body}\n`;
  });
  // A test is sent once: what a real message would repeat has failed.
  const ended = state === "pending" ? "failed" : state;
  return `${stateWord(ended, io.style)} ${terminalText(reason)}\n${lines.join("")}`;
}

function healthText(health: DestinationHealth, io: Io): string {
  const { behind, retries, since = "", nextAttemptAt = "", lastError = "", disabledUrls, urls } = health;
  const row = [healthWord(health.health), since, behind, retries, nextAttemptAt, lastError];
  const disabled = disabledUrls.map(
    (url) =>
      `${terminalText(url)} responded with 410 and is disabled until you enable it again: \`${io.invocation} destinations enable\`\n`,
  );
  const columns = ["STATE", "SINCE", "BEHIND", "RETRIES WAITING", "NEXT ATTEMPT", "LAST ERROR"];
  const perUrl = urls.length < 2 ? [] : urls.map((one) => [one.url, healthWord(one.health), one.reason]);
  return [
    table(columns, [row], io.style.bold),
    `${terminalText(health.reason)}\n`,
    perUrl.length === 0 ? "" : table(["URL", "STATE", "REASON"], perUrl, io.style.bold),
    ...disabled,
  ].join("");
}
