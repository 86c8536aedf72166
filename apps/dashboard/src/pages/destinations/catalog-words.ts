import type { CatalogEntryView } from "@sluice/control-api";
import type { IconName } from "../../ui/icon.js";

interface CatalogWords {
  /** A name, or the path of a type's own icon. */
  readonly icon: IconName | { readonly path: string };
  readonly lead: string;
}

const WORDS: Readonly<Record<string, CatalogWords>> = {
  webhooks: {
    icon: "webhook",
    lead: "Posts each message as JSON to up to five URLs, signed, with retries.",
  },
  console: {
    icon: "terminal",
    lead: "Prints each message in the collector's terminal. Useful for a first look.",
  },
  file: { icon: "file", lead: "Appends each message to a JSON Lines file on the collector's machine." },
};

/** Types from packages describe themselves. */
export function catalogWords({
  type,
  icon,
  description = "Sends each message to another system",
}: Pick<CatalogEntryView, "type" | "description" | "icon">): CatalogWords {
  return (
    WORDS[type] ?? { icon: icon === undefined ? "destinations" : { path: icon }, lead: `${description}.` }
  );
}
