import { Link } from "wouter";
import { useNames, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";

/** The collector's own source, whose messages audiences and computed traits make. */
const BUILT_IN_ID = "src_audiences";

/** A source by its name. One that is gone, and the collector's own, has no page to lead to. */
export function SourceLink({ id }: { id: string }) {
  const sources = useSources().data;
  const names = useNames();
  if (id === BUILT_IN_ID) return "audiences and computed traits";
  const isThere = sources === undefined || sources.some((one) => one.id === id);
  return isThere ? <Link href={addresses.source(id)}>{names.source(id)}</Link> : names.source(id);
}
