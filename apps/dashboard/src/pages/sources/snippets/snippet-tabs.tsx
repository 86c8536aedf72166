import { useCollectorUrl } from "../../../api/queries.js";
import { CodeBlock } from "../../../ui/data/code-block.js";
import { Tabs } from "../../../ui/layout/tabs.js";
import { snippetsFor } from "./snippets.js";

export function SnippetTabs({ writeKey }: { writeKey: string }) {
  const url = useCollectorUrl();
  return (
    <Tabs
      label="Client"
      prefix="snippet"
      tabs={snippetsFor(url, writeKey).map(({ id, label, code }) => ({
        id,
        label,
        content: <CodeBlock code={code} label={`${label} snippet`} />,
      }))}
    />
  );
}
