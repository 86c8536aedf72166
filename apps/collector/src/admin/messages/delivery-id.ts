import type { Offset } from "@sluice/event-log";
import { notFound } from "../document-resource.js";

/** A delivery is a message at a destination: `dst_4kZ….1042`. */
export function deliveryId(destinationId: string, offset: Offset): string {
  return `${destinationId}.${offset}`;
}

/** Throws `not_found` if the text is not a delivery id. */
export function parseDeliveryId(id: string): { destinationId: string; offset: Offset } {
  const match = /^(.+)\.(\d{1,15})$/.exec(id);
  if (match?.[1] === undefined) throw notFound("delivery", id);
  return { destinationId: match[1], offset: Number(match[2]) as Offset };
}
