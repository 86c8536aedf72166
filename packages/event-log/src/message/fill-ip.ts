import { isPlainObject, type UncheckedMessage } from "@sluice/protocol";

/** Libraries that run in the user's browser, where the connection's address is the user's. */
export const BROWSER_LIBRARIES: ReadonlySet<string> = new Set([
  "analytics.js",
  "@segment/analytics-next",
  "RudderLabs JavaScript SDK",
]);

/** Whether to fill the connection's address into a message: its client asks for it (`context.direct`), or is a browser SDK. */
export function wantsIp(message: UncheckedMessage): boolean {
  const { context } = message;
  if (!isPlainObject(context)) return false;
  if (context.ip !== undefined && context.ip !== null && context.ip !== "") return false;
  return (
    context.direct === true ||
    (isPlainObject(context.library) && BROWSER_LIBRARIES.has(context.library.name as string))
  );
}

export function fillIp(message: UncheckedMessage, ip: string): void {
  if (wantsIp(message)) (message.context as { ip?: string }).ip = ip;
}
