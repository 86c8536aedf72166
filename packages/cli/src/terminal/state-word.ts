import type { DeliveryStateView } from "@sluice/control-api";
import type { Style } from "./style.js";

/** The state of a delivery in its colour. `text` replaces the state's name. */
export function stateWord(state: DeliveryStateView, style: Style, text: string = state): string {
  if (state === "delivered") return style.green(text);
  if (state === "failed") return style.red(text);
  return state === "pending" ? style.yellow(text) : style.dim(text);
}
