import { Link } from "wouter";
import { BUILT_IN_SOURCE, useNames, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";

/** A source by name. A deleted source and the built-in one have no page to link to. */
export function SourceLink({ id }: { id: string }) {
  const sources = useSources().data;
  const names = useNames();
  if (id === BUILT_IN_SOURCE.id) return BUILT_IN_SOURCE.name;
  const isThere = sources === undefined || sources.some((one) => one.id === id);
  return isThere ? <Link href={addresses.source(id)}>{names.source(id)}</Link> : names.source(id);
}
