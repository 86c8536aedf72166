import type { TransformationTestView } from "@sluice/control-api";
import { CollectorError } from "../../errors.js";
import type { Trials } from "../../transformations/trials.js";
import { withoutUndefined } from "../document-resource.js";

export type CodeError = NonNullable<TransformationTestView["error"]>;
type Code = Parameters<Trials["check"]>;

/** Why code cannot run at all, and where; undefined if it can. */
export async function codeError(
  trials: Pick<Trials, "check">,
  { code, language }: { readonly code: Code[0]; readonly language: Code[1] },
): Promise<CodeError | undefined> {
  const check = await trials.check(code, language);
  if (check.ok) return undefined;
  const { message, line, column } = check;
  return withoutUndefined({ message, line, column });
}

/** Throws `invalid_request` with line and column if code cannot run. */
export async function requireRunnable(
  trials: Pick<Trials, "check">,
  code: { readonly code: Code[0]; readonly language: Code[1] },
): Promise<void> {
  const error = await codeError(trials, code);
  if (error === undefined) return;
  const { message, line, column } = error;
  const place = [line && `line ${line}`, column && `column ${column}`].filter(Boolean).join(", ");
  const text = `${place === "" ? "" : `${place}: `}${message}`;
  throw new CollectorError("invalid_request", `code: ${text}. Nothing was saved`, {
    details: { issues: [withoutUndefined({ path: "code", message: text, line, column })] },
  });
}
