import type { IconName } from "../../ui/icon.js";

interface CatalogWords {
  readonly icon: IconName;
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

export function catalogWords(type: string): CatalogWords {
  return WORDS[type] ?? { icon: "destinations", lead: "Sends each message to another system." };
}
