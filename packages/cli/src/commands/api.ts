import { Argument, type Command } from "commander";
import { type CommandOptions, connectedCommand } from "../connection/connected-command.js";
import { connect } from "../connection/connection.js";
import { examples } from "../definition.js";
import { readJson } from "../endpoints/fields.js";
import type { Io } from "../terminal/io.js";
import { terminalJson } from "../terminal/terminal-text.js";

/** `sluice api`: any request to the control API. */
export function apiCommand(io: Io): Command {
  const command = connectedCommand("api", "send a request to the control API and print the response")
    .addArgument(new Argument("<method>").choices(["GET", "POST", "PUT", "PATCH", "DELETE"]))
    .argument("<path>", "the path below /api/v1, with its query")
    .option("--data <json>", "the body: JSON, or @FILE")
    .action((method: string, path: string, options: CommandOptions & { readonly data?: string }) =>
      request(method, path, options, io),
    );
  return examples(command, [
    ["The rates of the last five minutes", "sluice api GET '/counters?of=collector&span=5m'"],
    ["A source", `sluice api POST /sources --data '{"name": "Shop"}'`],
  ]);
}

async function request(
  method: string,
  path: string,
  options: CommandOptions & { readonly data?: string },
  io: Io,
): Promise<void> {
  const client = await connect(options, io);
  const body = options.data === undefined ? undefined : await readJson("data", options.data, io);
  const route = `/${path.replace(/^\/*(api\/v1(\/|$))?/, "")}`;
  const response = await client.request(method, route, body, io.interrupted);
  if (response.headers.get("content-type")?.startsWith("application/json"))
    return io.out(`${terminalJson(await response.json(), options.json ? 0 : 2)}\n`);
  for await (const part of response.body ?? []) await io.outBytes(part);
}
