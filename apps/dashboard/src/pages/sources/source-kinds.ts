import type { SourceIdentityView, SourceKindView } from "@sluice/control-api";

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
