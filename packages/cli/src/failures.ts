/** The exit codes of `sluice`. A test compares `docs/reference/cli.md` with this table. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: "Success" },
  failed: { code: 1, meaning: "Failed, or you answered no to a question; stderr has the reason" },
  usage: {
    code: 2,
    meaning: "The command, an option, a file or the configuration is invalid; nothing was changed",
  },
  unreachable: { code: 3, meaning: "No collector responds at the address" },
  refused: { code: 4, meaning: "The admin token or write key is missing, unknown or not allowed to do this" },
  notFound: { code: 5, meaning: "Not found" },
  partly: {
    code: 6,
    meaning:
      "Partly done: messages were refused, deliveries failed again, a check failed, or a dry run found changes",
  },
  timedOut: { code: 7, meaning: "Timed out while waiting" },
  impossible: { code: 8, meaning: "The state to wait for can no longer be reached; stderr has the reason" },
  interrupted: { code: 130, meaning: "Interrupted by Ctrl-C" },
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** Ends a command with an exit code and a message for the user. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exit: ExitName;
  /** What the user can do about it. */
  readonly hint: string | undefined;

  constructor(exit: ExitName, message: string, hint?: string) {
    super(message);
    this.exit = exit;
    this.hint = hint;
  }
}

/** The command worked, and its result has an exit code of its own. It is printed without `error:`. */
export class Finding extends CommandFailure {}

/** Turns the error of a server that cannot listen into a message with a hint. Returns every other error unchanged. */
export function listenFailure(error: unknown, host: string, port: number, hintIfInUse?: string): unknown {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  switch (code) {
    case "EADDRINUSE":
      return new CommandFailure(
        "failed",
        `The address ${address} is already in use by another process`,
        ["Choose another port with --port; --port 0 takes any free one", hintIfInUse]
          .filter((hint) => hint !== undefined)
          .join(". "),
      );
    case "EACCES":
    case "EPERM":
      if (syscall !== "listen") return error;
      return new CommandFailure(
        "failed",
        `You are not allowed to listen on ${address}`,
        "Choose a port above 1023 with --port",
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new CommandFailure(
        "usage",
        `${host} is not an address of this machine`,
        "Choose another address with --host",
      );
    default:
      return error;
  }
}

/** The error code and the general sentence that the collector puts before the reason. */
const CODE_AND_SUMMARY = /^storage_unavailable: [^:]*: /;

/** The reason why a data folder cannot be opened, with a hint. Undefined for every other error. */
export function storeFailure(
  error: unknown,
): { readonly message: string; readonly hint?: string } | undefined {
  if (!(error instanceof Error) || !CODE_AND_SUMMARY.test(error.message)) return undefined;
  const reason = error.message.replace(CODE_AND_SUMMARY, "");
  const message = `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
  if (isFolderInUse(error))
    return {
      message,
      hint: "Stop the collector that uses it first, or choose another folder with --data-dir",
    };
  return { message };
}

/** Whether another process uses the data folder: `FOLDER_IN_USE` of the event log. */
export function isFolderInUse(error: unknown): boolean {
  const { details } = (error ?? {}) as { readonly details?: { readonly reason?: unknown } };
  return details?.reason === "folder_in_use";
}
