import type { RefusedJoin } from "@sluice/audiences";
import type { StoredMessageView } from "@sluice/control-api";

type JoinIssue = NonNullable<StoredMessageView["issues"]>[number];

const REASONS: Readonly<Record<RefusedJoin["reason"], (field: string) => string>> = {
  source: (field) => `\`${field}\` is not joined to the user: the source's \`identity\` is \`none\``,
  user: (field) =>
    `\`${field}\` is not joined to the user: it is another user, and the source's \`identity\` is \`anonymous\``,
  other: (field) => `\`${field}\` is not joined to the user: it belongs to another user already`,
  earlier: (field) =>
    `\`${field}\` is not joined to the user: the profile had no room for it, or the source's \`identity\` did not allow it then`,
};

/** The joins of ids that were refused, as issues of their message. */
export function joinIssues(refused: readonly RefusedJoin[]): JoinIssue[] {
  return refused.map(({ field, reason }) => ({
    code: "join_refused",
    path: field,
    message: REASONS[reason](field),
  }));
}
