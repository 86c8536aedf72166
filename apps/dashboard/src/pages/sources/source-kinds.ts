import type { SourceIdentityView, SourceKindView } from "@sluice/protocol";

export const SOURCE_KINDS: Readonly<
  Record<SourceKindView, { readonly label: string; readonly hint: string }>
> = {
  server: { label: "Server", hint: "Your own backend: Node, Go, Ruby, Python, or plain HTTP." },
  web: { label: "Web", hint: "Pages in a browser. Its write key is seen by every visitor." },
  mobile: { label: "Mobile", hint: "An app on a phone or tablet. Its write key ships with the app." },
};

/** What messages of a source may say about who is who. */
export const SOURCE_IDENTITIES: Readonly<
  Record<SourceIdentityView, { readonly label: string; readonly hint: string }>
> = {
  full: {
    label: "Everything",
    hint: "Messages join anonymous ids to users, and by alias one user to another. Only for a secret write key.",
  },
  anonymous: {
    label: "Anonymous ids",
    hint: "Identify and alias join an anonymous id to a user, if it is nobody's yet. Never one user to another.",
  },
  none: { label: "Nothing", hint: "No message of this source joins ids." },
};
