/** A write as it stands in the log. */
export interface LoggedCall {
  readonly operation: string;
  readonly request: unknown;
}

/** A call, ready to be put into an entry. */
export interface EncodedCall {
  readonly json: string;
  /** Stand beside the JSON, in the order in which `json` names them. */
  readonly arrays: readonly NumberArray[];
}

type NumberArray = Uint8Array | Uint32Array | Float64Array;

const KINDS = { u8: Uint8Array, u32: Uint32Array, f64: Float64Array } as const;
type Kind = keyof typeof KINDS;

/** A call in the head of an entry. Names are short because each entry has them. */
interface CallHead {
  readonly operation: string;
  /** A list: the arguments of a method. */
  readonly request: Readonly<Record<string, unknown>> | readonly unknown[];
  /** The request's fields that are arrays of numbers: name, kind and bytes. */
  readonly arrays?: readonly (readonly [field: string, kind: Kind, bytes: number])[];
}

/** Only fields of the request itself may be typed arrays. `undefined` becomes absent, or null in a list. */
export function encodeCall({ operation, request }: LoggedCall): EncodedCall {
  if (Array.isArray(request)) return { json: JSON.stringify({ operation, request }), arrays: [] };
  const plain: Record<string, unknown> = {};
  const described: [string, Kind, number][] = [];
  const arrays: NumberArray[] = [];
  for (const [field, value] of Object.entries(request as object)) {
    const kind = kindOf(value);
    if (kind === undefined) plain[field] = value;
    else {
      described.push([field, kind, (value as NumberArray).byteLength]);
      arrays.push(value as NumberArray);
    }
  }
  const head: CallHead = {
    operation,
    request: plain,
    ...(described.length === 0 ? {} : { arrays: described }),
  };
  return { json: JSON.stringify(head), arrays };
}

/** `take`: where in `buffer` the next array of so many bytes begins. Throws any error if the call is damaged. */
export function decodeCall(
  { operation, request, arrays = [] }: CallHead,
  buffer: ArrayBuffer,
  take: (bytes: number) => number,
): LoggedCall {
  if (typeof operation !== "string" || typeof request !== "object" || request === null)
    throw new TypeError("not a call");
  if (Array.isArray(request)) return { operation, request };
  const fields = arrays.map(([field, kind, bytes]) => {
    const array = KINDS[kind];
    return [field, new array(buffer, take(bytes), bytes / array.BYTES_PER_ELEMENT)] as const;
  });
  return { operation, request: { ...request, ...Object.fromEntries(fields) } };
}

function kindOf(value: unknown): Kind | undefined {
  if (value instanceof Uint8Array) return "u8";
  if (value instanceof Uint32Array) return "u32";
  if (value instanceof Float64Array) return "f64";
  return undefined;
}
