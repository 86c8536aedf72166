import { AdminError, AdminUnreachable } from "@sluice/admin-client";
import { CommanderError } from "commander";
import { CommandFailure, EXIT_CODES, type ExitName, Finding, storeFailure } from "./failures.js";
import { program } from "./program.js";
import type { Io } from "./terminal/io.js";
import { asStarted } from "./terminal/io.js";
import { shellWord } from "./terminal/style.js";
import { terminalJson, terminalText } from "./terminal/terminal-text.js";

interface Failure {
  readonly exit: ExitName;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Prints a failure to stderr and returns the exit code. */
function reportFailure(error: unknown, io: Io, asJson: boolean): number {
  const { exit, code, message, hint: said } = describe(error, io);
  const hint = said === undefined ? undefined : asStarted(said, io);
  if (asJson)
    io.err(`${terminalJson({ error: { code, message, ...(hint === undefined ? {} : { hint }) } })}\n`);
  else {
    const text = message.split("\n").map(terminalText).join("\n");
    io.err(error instanceof Finding ? `${text}\n` : `${io.errStyle.red("error:")} ${text}\n`);
    if (hint !== undefined) io.err(`${io.errStyle.dim(`hint: ${terminalText(hint)}`)}\n`);
  }
  return EXIT_CODES[exit].code;
}

function describe(error: unknown, io: Io): Failure {
  if (error instanceof CommandFailure)
    return { exit: error.exit, code: error.exit, message: error.message, hint: error.hint };
  if (error instanceof AdminUnreachable)
    return {
      exit: "unreachable",
      code: "unreachable",
      message: error.message,
      hint: "Is the collector running? Start one with `npx sluice dev`, give another address with --url, or run `npx sluice doctor`",
    };
  if (error instanceof AdminError)
    return {
      exit: exitOf(error),
      code: error.code,
      message: withoutCode(error),
      hint: hintOf(error),
    };
  const store = storeFailure(error);
  if (store !== undefined) return { exit: "failed", code: "storage_unavailable", ...store };
  if (io.interrupted.aborted) return { exit: "interrupted", code: "interrupted", message: "Interrupted" };
  const message = error instanceof Error ? error.message : String(error);
  return { exit: "failed", code: "failed", message };
}

const TOKEN_HINT =
  "Give an admin token with --token or SLUICE_TOKEN. `npx sluice dev` prints its token and keeps it in .sluice; in production it is SLUICE_ADMIN_TOKEN, or the file admin-token in the data folder";

const NO_ROUTE = "not_found: Nothing was found at this address";
const ADMIN_URL_HINT =
  "If the collector has an address of its own for the control API (adminListen), give it with SLUICE_ADMIN_URL";

/** The command to run, for errors of the collector that only say what has to be done. */
function hintOf({ code, message, details }: AdminError): string | undefined {
  if (code === "unauthorized") return TOKEN_HINT;
  // The collector's sentence for an address without a route: every other 404 says what was not found.
  if (code === "not_found" && message === NO_ROUTE) return ADMIN_URL_HINT;
  if ((code === "url_disabled" || code === "destination_disabled") && typeof details.destination === "string")
    return `Enable it: npx sluice destinations enable ${shellWord(details.destination)}`;
  return undefined;
}

/** The collector's messages start with their code. `--json` prints the code separately, and people do not need it. */
function withoutCode({ code, message }: AdminError): string {
  return message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message;
}

function exitOf({ status, code, details }: AdminError): ExitName {
  // A key that is already taken is invalid input. A version conflict is not.
  if (status === 409 && "key" in details) return "usage";
  if (status === 401 || status === 403) return "refused";
  if (status === 404) return "notFound";
  if (code === "wait_timed_out") return "timedOut";
  if (code === "wait_impossible") return "impossible";
  return status === 400 ? "usage" : "failed";
}

/** Runs a command line (without node and script) and returns its exit code. Never rejects. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    await program(io).parseAsync([...args], { from: "user" });
    return EXIT_CODES.ok.code;
  } catch (error) {
    // Commander has already printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage.code;
    return reportFailure(error, io, args.includes("--json"));
  }
}
