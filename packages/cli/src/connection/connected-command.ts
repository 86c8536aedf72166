import type { Command } from "commander";
import { newCommand } from "../definition.js";
import { type ConnectionOptions, withConnection } from "./connection.js";

/** The options that every command with a connection has. */
export interface CommandOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** A command that talks to a collector. */
export function connectedCommand(name: string, summary: string): Command {
  return withConnection(newCommand(name, summary));
}
