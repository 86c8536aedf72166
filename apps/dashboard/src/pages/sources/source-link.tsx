import { Link } from "wouter";
import { useNames, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";

/** The built-in source of the messages that audiences and computed traits send. */
const BUILT_IN_ID = "src_audiences";

/** A source by name. A deleted source and the built-in one have no page to link to. */
export function SourceLink({ id }: { id: string }) {
  const sources = useSources().data;
  const names = useNames();
  if (id === BUILT_IN_ID) return "audiences and computed traits";
  const isThere = sources === undefined || sources.some((one) => one.id === id);
  return isThere ? <Link href={addresses.source(id)}>{names.source(id)}</Link> : names.source(id);
}
