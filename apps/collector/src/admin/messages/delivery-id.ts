import type { Offset } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";

/** A delivery is a message at a destination: `dst_4kZ….1042`. */
export function deliveryId(destinationId: string, offset: Offset): string {
  return `${destinationId}.${offset}`;
}

/** Throws `not_found` for what is no such id. */
export function parseDeliveryId(id: string | undefined): { destinationId: string; offset: Offset } {
  const match = /^(.+)\.(\d{1,16})$/.exec(id ?? "");
  if (match?.[1] === undefined) throw new CollectorError("not_found", `no delivery has the id ${id}`);
  return { destinationId: match[1], offset: Number(match[2]) as Offset };
}
