import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { TransformationLanguage } from "@sluice/control-api";
import type { Command } from "commander";
import type { Extra } from "../../endpoints/endpoint-command.js";
import { CommandFailure } from "../../failures.js";
import { ask } from "../../terminal/confirm.js";
import type { Io } from "../../terminal/io.js";

interface Code {
  readonly code: string;
  readonly language: TransformationLanguage;
}

/** The code in a file. The end of its name says whether it is TypeScript or JavaScript. */
export async function readCode(file: string, io: Io): Promise<Code> {
  const language = /\.[cm]?js$/.test(file) ? "javascript" : "typescript";
  try {
    return { code: await readFile(resolve(io.cwd, file), "utf8"), language };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandFailure("usage", `${file} cannot be read: ${reason}`);
  }
}

/** The values of secrets: from environment variables of their names, or asked for on a terminal, never from the command line. */
async function readSecrets(names: readonly string[], io: Io): Promise<{ [name: string]: string }> {
  const secrets: { [name: string]: string } = {};
  for (const name of names) {
    const value = io.env[name] ?? (io.canAsk ? await ask(`${name}: `, io) : "");
    if (value === "")
      throw new CommandFailure(
        "usage",
        `The secret ${name} has no value`,
        `Set it as the environment variable ${name}`,
      );
    secrets[name] = value;
  }
  return secrets;
}

const SECRET_OPTION =
  "a secret that the code gets as secrets.NAME; its value is the environment variable NAME, or is asked for";

/** The body of `create` and `update` from `--file` and `--secret`. */
const codeBody: Extra["body"] = async ({ options, io }) => {
  const { file, secret = [], removeSecret = [] } = options;
  const removed = (removeSecret as string[]).map((name) => [name, null]);
  const secrets = { ...Object.fromEntries(removed), ...(await readSecrets(secret as string[], io)) };
  return {
    ...(file === undefined ? {} : await readCode(String(file), io)),
    ...(Object.keys(secrets).length === 0 ? {} : { secrets }),
  };
};

export const createExtra: Extra = {
  options: (command: Command) =>
    void command
      .requiredOption("--file <file>", "the code: TypeScript, or JavaScript in a file that ends with .js")
      .option("--secret <name...>", SECRET_OPTION),
  body: codeBody,
};

export const updateExtra: Extra = {
  options: (command: Command) =>
    void command
      .option("--file <file>", "save its contents as a version, which is in force at once")
      .option("--secret <name...>", SECRET_OPTION)
      .option("--remove-secret <name...>", "remove these secrets"),
  body: codeBody,
};
