import type { DeliveryStateView } from "@sluice/control-api";
import type { Style } from "./style.js";

/** `1 message`, `2 messages`. */
export function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Quotes a text if a shell would split or interpret it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The state of a delivery in its colour. `text` replaces the state's name. */
export function stateWord(state: DeliveryStateView, style: Style, text: string = state): string {
  if (state === "delivered") return style.green(text);
  if (state === "failed") return style.red(text);
  return state === "pending" ? style.yellow(text) : style.dim(text);
}
