/** The name and code of a new transformation. */
export interface Start {
  readonly name: string;
  readonly code: string;
}

export const EMPTY_START: Start = {
  name: "",
  code: `import type { Context, Message } from "@sluice/transformations";

export default function transform(message: Message, { secrets, log }: Context) {
  // Return the message, a changed one, several in an array, or null to drop it.
  return message;
}
`,
};

// @boundaries-ignore the snippets are files of the repository, documented and tested where they are
const SNIPPETS = import.meta.glob<string>("../../../../../packages/transformations/snippets/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Ready transformations, by name: `Hash email`. */
export const READY_STARTS: readonly Start[] = Object.entries(SNIPPETS).map(([path, code]) => {
  const words = (path.split("/").at(-1) ?? "").replace(/\.ts$/, "").replaceAll("-", " ");
  return { name: words.charAt(0).toUpperCase() + words.slice(1), code };
});
