import type { DeliveryStateView } from "@sluice/control-api";

/** Colours and weights for a terminal. `PLAIN` leaves text unchanged. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  blue(text: string): string;
  cyan(text: string): string;
}

const plain = (text: string): string => text;
const sgr =
  (on: number, off: number) =>
  (text: string): string =>
    `\u001b[${on}m${text}\u001b[${off}m`;

export const PLAIN: Style = {
  bold: plain,
  dim: plain,
  red: plain,
  green: plain,
  yellow: plain,
  blue: plain,
  cyan: plain,
};
const COLORED: Style = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
  blue: sgr(34, 39),
  cyan: sgr(36, 39),
};

/** A non-empty NO_COLOR wins, then FORCE_COLOR; otherwise only a terminal gets colours. */
export function styleFor(env: { readonly [name: string]: string | undefined }, isTerminal: boolean): Style {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return PLAIN;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0") return COLORED;
  return isTerminal && env.TERM !== "dumb" ? COLORED : PLAIN;
}

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
