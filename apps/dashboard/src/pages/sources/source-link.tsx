import { isBuiltInSource } from "@sluice/protocol";
import { Link } from "wouter";
import { useNames, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";

/** A source by name. A deleted source and the built-in ones have no page to link to. */
export function SourceLink({ id }: { id: string }) {
  const sources = useSources().data;
  const names = useNames();
  const isThere = !isBuiltInSource(id) && (sources === undefined || sources.some((one) => one.id === id));
  return isThere ? <Link href={addresses.source(id)}>{names.source(id)}</Link> : names.source(id);
}
