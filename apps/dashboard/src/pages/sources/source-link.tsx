import type { SourceIdentityView, SourceKindView } from "@sluice/control-api";
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

export const SOURCE_KINDS: Readonly<
  Record<SourceKindView, { readonly label: string; readonly hint: string }>
> = {
  server: { label: "Server", hint: "Your backend: Node, Go, Ruby, Python, or plain HTTP." },
  web: { label: "Web", hint: "Pages in a browser. Every visitor can see its write key." },
  mobile: {
    label: "Mobile",
    hint: "An app on a phone or tablet. Every user of the app can find its write key.",
  },
};

/** Which ids messages of a source may join. */
export const SOURCE_IDENTITIES: Readonly<
  Record<SourceIdentityView, { readonly label: string; readonly hint: string }>
> = {
  full: {
    label: "Full",
    hint: "Messages link anonymous ids to users, and alias messages link users to each other. Only for secret write keys.",
  },
  anonymous: {
    label: "Anonymous ids",
    hint: "Identify and alias messages link an anonymous id to a user, unless it belongs to another user. They never link users.",
  },
  none: { label: "None", hint: "Messages of this source link no ids." },
};
