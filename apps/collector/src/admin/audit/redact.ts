const SECRET_NAMES = /secret|token|password|passwd|authorization|cookie|api[-_]?key/i;
/** Replaces values that the audit log does not keep. */
export const HIDDEN = "(hidden)";

/** A request's body for the audit log: secrets and header values are replaced at any depth. */
export function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (inner === null) return [name, inner];
      if (name === "secrets" && typeof inner === "object") return [name, hiddenValues(inner)];
      if (SECRET_NAMES.test(name)) return [name, HIDDEN];
      if (name === "headers" && typeof inner === "object") return [name, hiddenValues(inner)];
      return [name, redact(inner)];
    }),
  );
}

/** The names of values, and which of them were removed. */
function hiddenValues(values: object): object {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === null ? null : HIDDEN]),
  );
}
