import type { SourceView } from "@sluice/protocol";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { SnippetTabs } from "./snippet-tabs.js";
import { newestKey } from "./write-key.js";

/** What stands where messages will be, until the first one comes: the way to send it. */
export function FirstMessage({ sources }: { sources: readonly SourceView[] }) {
  const source = sources[0];
  if (source === undefined) {
    return (
      <EmptyState
        icon="sources"
        title="Make a source first"
        action={
          <ButtonLink look="primary" href={addresses.sources()}>
            New source
          </ButtonLink>
        }
      >
        <p>
          A source is a place that sends messages: a server, a site, an app. It has a write key that its SDK
          uses.
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
            Send one from your code, or paste the curl line into a terminal. It appears here the moment it is
            on disk.
          </p>
        </div>
      </div>
      <SnippetTabs writeKey={newestKey(source)} />
      <p className="small faint">
        These use the write key of source “{source.name}”. Segment's own SDKs work unchanged: they only need
        this host.
      </p>
    </div>
  );
}
