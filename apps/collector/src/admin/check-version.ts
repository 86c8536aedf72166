import { CollectorError } from "../errors.js";

/** Throws when what is stored has another version than the request names: 412 for `If-Match` (RFC 9110), 409 for `version` in the body. */
export function checkVersion(
  current: number,
  { ifMatch, version }: { readonly ifMatch?: number | undefined; readonly version?: number | undefined },
): void {
  if (ifMatch !== undefined && ifMatch !== current)
    throw new CollectorError("precondition_failed", `it is at version ${current}`, {
      details: { version: current },
    });
  if (version !== undefined && version !== current)
    throw new CollectorError("conflict", `it is at version ${current}`, { details: { version: current } });
}
