import type { SourceKindView } from "@sluice/protocol";

export const SOURCE_KINDS: Readonly<
  Record<SourceKindView, { readonly label: string; readonly hint: string }>
> = {
  server: { label: "Server", hint: "Your own backend: Node, Go, Ruby, Python, or plain HTTP." },
  web: { label: "Web", hint: "Pages in a browser. Its write key is seen by every visitor." },
  mobile: { label: "Mobile", hint: "An app on a phone or tablet. Its write key ships with the app." },
};
