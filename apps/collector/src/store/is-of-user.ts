import type { Rejection } from "./store.js";

/** Whether a user's deletion removes it. Its text is looked at too: it may name the user in other places than the known ones. */
export function isOfUser({ users, excerpt }: Rejection, userId: string): boolean {
  return users?.includes(userId) === true || excerpt.includes(JSON.stringify(userId));
}
