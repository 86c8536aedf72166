/** The name and code of a new transformation. */
export interface Start {
  readonly name: string;
  readonly code: string;
}

const EMPTY: Start = {
  name: "",
  code: `export default function transform(message, { secrets, log }) {
  // Return the message, a changed one, several in an array, or null to drop it.
  return message;
}
`,
};

/** `from`: the name of a ready transformation. */
export function startCode(_from?: string): Start {
  return EMPTY;
}
