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
