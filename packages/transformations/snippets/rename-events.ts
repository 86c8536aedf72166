import type { Message } from "@sluice/transformations";

const NAMES = new Map([
  ["Order Completed", "purchase"],
  ["Product Added", "add_to_cart"],
  ["Signed Up", "sign_up"],
]);

/** Gives events the names that a destination expects. Others become snake_case. */
export default function renameEvents(message: Message) {
  if (message.type !== "track") return message;
  const snakeCase = message.event
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_");
  return { ...message, event: NAMES.get(message.event) ?? snakeCase };
}
