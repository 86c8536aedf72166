import type { IconName } from "../../ui/icon.js";

interface CatalogWords {
  readonly icon: IconName;
  readonly lead: string;
}

const WORDS: Readonly<Record<string, CatalogWords>> = {
  webhooks: {
    icon: "webhook",
    lead: "Posts every message as JSON to up to five of your URLs, signed, with retries for four hours.",
  },
  console: {
    icon: "terminal",
    lead: "Prints every message in the collector's terminal. Good for a first look.",
  },
  file: { icon: "file", lead: "Appends every message to a file of JSON lines on the collector's machine." },
};

export function catalogWords(type: string): CatalogWords {
  return WORDS[type] ?? { icon: "destinations", lead: "Sends every message on." };
}
