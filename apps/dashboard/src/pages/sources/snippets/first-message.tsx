import type { SourceView } from "@sluice/control-api";
import { addresses } from "../../../routing/addresses.js";
import { ButtonLink } from "../../../ui/controls/button.js";
import { EmptyState } from "../../../ui/feedback/empty-state.js";
import { SnippetTabs } from "./snippet-tabs.js";
import { newestKey } from "./write-key.js";

/** Shown until the first message arrives: how to send one. */
export function FirstMessage({ sources }: { sources: readonly SourceView[] }) {
  const source = sources[0];
  if (source === undefined) {
    return (
      <EmptyState
        icon="sources"
        title="Create a source first"
        action={
          <ButtonLink look="primary" href={addresses.sources()}>
            New source
          </ButtonLink>
        }
      >
        <p>
          A source is a server, a website or an app that sends messages. Its SDK uses the source's write key.
        </p>
      </EmptyState>
    );
  }
  return (
    <div className="first">
      <div className="first-head">
        <span className="waiting" aria-hidden="true" />
        <div>
          <h2>Waiting for the first message</h2>
          <p className="soft">
            Send one from your code, or paste the curl command into a terminal. It appears here immediately.
          </p>
        </div>
      </div>
      <SnippetTabs writeKey={newestKey(source)} />
      <p className="small faint">
        The snippets contain the write key of the source “{source.name}”. Segment's SDKs work unchanged; they
        only need this host.
      </p>
    </div>
  );
}
