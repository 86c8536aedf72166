import type { JsonObject } from "@sluice/protocol";
import { useCollectorUrl, useSources } from "../../api/queries.js";
import { copyText } from "../../ui/controls/copy-button.js";
import { Menu, MenuItem } from "../../ui/controls/menu.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { escapeHidden } from "../../words/visible-text.js";
import { newestKey } from "../sources/snippets/snippets.js";
import { asCurl, asSdkCall, asTest } from "./copy-text.js";

export function CopyAs({ message, sourceId }: { message: JsonObject; sourceId: string }) {
  const notify = useNotify();
  const source = useSources().data?.find((one) => one.id === sourceId);
  const writeKey = newestKey(source);
  const url = useCollectorUrl();
  const copy = (what: string, text: string) => () =>
    void copyText(text).then((worked) =>
      notify(worked ? `Copied as ${what}` : "The browser did not allow copying"),
    );
  return (
    <Menu label="Copy this message" icon="copy" text="Copy as">
      <MenuItem icon="terminal" onSelect={copy("curl", asCurl(message, url, writeKey))}>
        curl
      </MenuItem>
      <MenuItem icon="sources" onSelect={copy("SDK call", asSdkCall(message))}>
        SDK call
      </MenuItem>
      <MenuItem icon="check" onSelect={copy("test", asTest(message, location.origin, writeKey))}>
        Test
      </MenuItem>
      <MenuItem icon="file" onSelect={copy("JSON", escapeHidden(JSON.stringify(message, null, 2)))}>
        JSON
      </MenuItem>
    </Menu>
  );
}
