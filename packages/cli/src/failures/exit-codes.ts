/** How `sluice` can end; `docs/reference/cli.md` lists them from here. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: "Done" },
  failed: { code: 1, meaning: "It failed, or the answer to a question was no; stderr says why" },
  usage: {
    code: 2,
    meaning: "The command, an option, a file or the configuration is not valid; nothing was done",
  },
  unreachable: { code: 3, meaning: "No collector answers at the address" },
  refused: { code: 4, meaning: "The admin token or the write key is missing, unknown, or may not do this" },
  notFound: { code: 5, meaning: "There is no such thing" },
  partly: {
    code: 6,
    meaning: "Done, but not with everything: messages were refused, a check failed, a dry run found changes",
  },
  timedOut: { code: 7, meaning: "What was waited for did not happen in time" },
  impossible: { code: 8, meaning: "What was waited for cannot happen any more; stderr says why" },
  interrupted: { code: 130, meaning: "Interrupted by Ctrl-C before it was done" },
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** A command ends in a way that the user has to know about; the message is for them. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exit: ExitName;
  /** What can be done about it. */
  readonly hint: string | undefined;

  constructor(exit: ExitName, message: string, hint?: string) {
    super(message);
    this.exit = exit;
    this.hint = hint;
  }
}

/** It all went well, and the exit code says what was found: no error for people to look for. */
export class Finding extends CommandFailure {}
