import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { AdminClient } from "@sluice/admin-client";
import type {
  TransformationDryRunView,
  TransformationResult,
  TransformationTest,
  TransformationTestView,
} from "@sluice/control-api";
import { isPlainObject } from "@sluice/protocol";
import type { Command } from "commander";
import { definedFields, readInteger } from "../../arguments.js";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { findByName } from "../../connection/find-by-name.js";
import { examples } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/style.js";
import { show } from "../../terminal/terminal-text.js";
import { readCode } from "./read-code.js";
import { codeErrorText, countsText, resultText, type TriedCode } from "./result-text.js";

interface CodeOptions extends CommandOptions {
  readonly file?: string;
  readonly destination?: string;
}

interface TestOptions extends CodeOptions {
  readonly from?: readonly string[];
  readonly newest?: string;
  readonly source?: string;
  readonly message?: readonly string[];
}

interface DryRunOptions extends CodeOptions {
  readonly messages: string;
  readonly source?: string;
}

const NEWEST = 10;
const MOST_MESSAGES = 100;
const MOST_DRY_RUN = 10_000;

export function testCommand(io: Io): Command {
  const command = codeCommand(
    "test",
    "run code on messages and show what it changes; nothing is saved or sent",
  )
    .option("--from <messageId...>", "run it on these stored messages")
    .option("--newest <n>", `run it on the newest n messages (default: ${NEWEST}, if no others are given)`)
    .option("--source <source>", "only messages of this source, with --newest: id or name")
    .option("--message <file...>", "run it on a message, or a list of messages, as JSON; - reads stdin")
    .action((name: string | undefined, options: TestOptions) => test(name, options, io));
  return examples(command, [
    ["Before it is saved", "sluice transformations test --file hash-email.ts --from m-42"],
    ["With the secrets of one that is", 'sluice transformations test "Hash e-mail" --file hash-email.ts'],
  ]);
}

export function dryRunCommand(io: Io): Command {
  const command = codeCommand(
    "dry-run",
    "run code on the newest stored messages and count what it would change, drop or fail on",
  )
    .option("--messages <n>", `at most ${MOST_DRY_RUN}`, "1000")
    .option("--source <source>", "only messages of this source: id or name")
    .action((name: string | undefined, options: DryRunOptions) => dryRun(name, options, io));
  return examples(command, [
    ["", "sluice transformations dry-run --file hash-email.ts --destination Warehouse"],
    ["The version in force", 'sluice transformations dry-run "Hash e-mail" --messages 5000'],
  ]);
}

function codeCommand(name: string, summary: string): Command {
  return connectedCommand(name, summary)
    .argument("[transformation]", "its id or name: the code gets its secrets")
    .option("--file <file>", "the code (default: the version in force)")
    .option(
      "--destination <destination>",
      "only messages that it gets, on their way to it: also through the other transformation",
    );
}

async function test(name: string | undefined, options: TestOptions, io: Io): Promise<void> {
  const messages = await messagesIn(options.message ?? [], io);
  const client = await connect(options, io);
  const { body, tried } = await codeOf(client, name, options.file, io);
  const { newest, from = [] } = options;
  const isOpen = newest === undefined && options.source === undefined;
  const count = readInteger("--newest", newest ?? String(NEWEST), 1, MOST_MESSAGES);
  const sourceId = await idOfSource(client, options.source);
  const destinationId = await idOfDestination(client, options.destination);
  const wanted: TransformationTest = {
    ...body,
    ...definedFields({ destinationId }),
    ...(messages.length === 0 ? {} : { messages }),
    ...(from.length === 0 ? {} : { messageIds: from }),
    ...(isOpen && messages.length + from.length > 0
      ? {}
      : { newest: { count, ...definedFields({ sourceId }) } }),
  };
  const answer = await client.transformations.test(wanted, io.interrupted);
  const { results } = answer;
  await show(io, options.json, answer, () => resultsText(answer, tried, io));
  checkCode(answer, tried, options, io);
  const failed = results.filter(({ result }) => result === "failed").length;
  if (failed > 0)
    throw new CommandFailure(
      "partly",
      `It failed on ${failed} of ${plural(results.length, "message", "messages")}`,
    );
}

function resultsText({ error, results }: TransformationTestView, tried: TriedCode, io: Io): string {
  if (error !== undefined) return "";
  if (results.length === 0) return "no message is stored\n";
  const counts = { same: 0, changed: 0, dropped: 0, failed: 0 };
  for (const { result } of results) counts[result] += 1;
  const each = results.map((result) => `${resultText(result, tried, io)}\n`).join("");
  return `${each}${plural(results.length, "message", "messages")}: ${countsText(counts)}\n`;
}

async function dryRun(name: string | undefined, options: DryRunOptions, io: Io): Promise<void> {
  const messages = readInteger("--messages", options.messages, 1, MOST_DRY_RUN);
  const client = await connect(options, io);
  const { body, tried } = await codeOf(client, name, options.file, io);
  const destinationId = await idOfDestination(client, options.destination);
  const sourceId = await idOfSource(client, options.source);
  const wanted = { ...body, messages, ...definedFields({ sourceId, destinationId }) };
  const answer = await client.transformations.dryRun(wanted, io.interrupted);
  await show(io, options.json, answer, () => countedText(answer, tried, io));
  checkCode(answer, tried, options, io);
  if (answer.failed > 0)
    throw new CommandFailure(
      "partly",
      `It failed on ${answer.failed} of ${plural(answer.messages, "message", "messages")}`,
    );
}

function countedText(answer: TransformationDryRunView, tried: TriedCode, io: Io): string {
  const { error, messages, causes, examples: shown, tookMs } = answer;
  if (error !== undefined) return "";
  if (messages === 0) return "no message is stored that it would get\n";
  const seconds = (tookMs / 1_000).toFixed(1);
  const early = answer.endedEarly ? "It ended early: older messages are not counted\n" : "";
  const head = `${plural(messages, "message", "messages")} in ${seconds} s: ${countsText(answer)}\n${early}`;
  const why = causes.map((cause) => {
    const { count, messageIds } = cause;
    return `\n${io.style.red(`${count} failed`)}, such as ${messageIds.join(", ")}\n${codeErrorText(cause, tried)}`;
  });
  const each = shown.filter(({ result }) => result !== "failed");
  return [head, ...why, ...each.map((one: TransformationResult) => `\n${resultText(one, tried, io)}`)].join(
    "",
  );
}

/** Throws if the code cannot run at all. */
function checkCode(
  { error }: Pick<TransformationTestView, "error">,
  tried: TriedCode,
  { json }: CodeOptions,
  io: Io,
): void {
  if (error === undefined) return;
  if (!json) io.err(codeErrorText(error, tried));
  const place = error.line === undefined ? tried.file : `${tried.file}:${error.line}`;
  throw new CommandFailure("usage", `The code cannot run: correct ${place}`);
}

/** The code of the file, or else of the version in force, and the request's fields for it. */
async function codeOf(client: AdminClient, name: string | undefined, file: string | undefined, io: Io) {
  if (name === undefined && file === undefined)
    throw new CommandFailure("usage", "Give --file, or the name of a transformation");
  const given = file === undefined ? undefined : await readCode(file, io);
  const saved =
    name === undefined ? undefined : await findByName("transformation", name, client.transformations.list);
  const tried: TriedCode = {
    file: file ?? saved?.name ?? "",
    code: given?.code ?? saved?.code ?? "",
  };
  return { tried, body: { ...given, ...definedFields({ id: saved?.id }) } };
}

async function idOfSource(client: AdminClient, source: string | undefined): Promise<string | undefined> {
  return source === undefined ? undefined : (await findByName("source", source, client.sources.list)).id;
}

async function idOfDestination(client: AdminClient, name: string | undefined): Promise<string | undefined> {
  return name === undefined
    ? undefined
    : (await findByName("destination", name, client.destinations.list)).id;
}

/** The messages in files: one object each, or a list. */
async function messagesIn(files: readonly string[], io: Io): Promise<{ [field: string]: unknown }[]> {
  const parsed = await Promise.all(files.map(async (file) => parseMessages(file, await readText(file, io))));
  return parsed.flat();
}

async function readText(file: string, io: Io): Promise<string> {
  try {
    return file === "-" ? await text(io.stdin) : await readFile(resolve(io.cwd, file), "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandFailure("usage", `${file} cannot be read: ${reason}`);
  }
}

function parseMessages(file: string, json: string): { [field: string]: unknown }[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandFailure("usage", `${file} is not valid JSON: ${reason}`);
  }
  const all: unknown[] = Array.isArray(value) ? value : [value];
  if (!all.every(isPlainObject))
    throw new CommandFailure("usage", `${file} must hold a message as a JSON object, or a list of them`);
  return all as { [field: string]: unknown }[];
}
