import { audienceKey } from "@sluice/protocol";
import type { Definition } from "./definition-kind.js";

/** Under the name field: which trait destinations get. The key is fixed when the definition is created. */
export function KeyHint({ existing, name }: { existing: Definition | undefined; name: string }) {
  const key = existing?.key ?? audienceKey(name);
  if (key === "") return <>The trait that destinations get is named after it.</>;
  return (
    <>
      Destinations get the trait <code>{key}</code>.{existing && " Renaming does not change it."}
    </>
  );
}
