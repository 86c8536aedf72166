import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { EmptyState } from "../../ui/feedback.js";

/** Shown instead of the list of destinations. */
export function NoDestinations() {
  return (
    <EmptyState
      icon="destinations"
      title="No destinations yet"
      action={
        <>
          <ButtonLink look="primary" icon="webhook" href={addresses.connect("webhooks")}>
            Connect a webhook
          </ButtonLink>
          <ButtonLink href={addresses.catalog()}>Open the catalog</ButtonLink>
        </>
      }
    >
      <p>
        Messages are stored but not sent. To connect a webhook, you only need its URL: the guide to{" "}
        <a href={addresses.guide("guide/webhooks")}>receiving webhooks</a> has a receiver.
      </p>
    </EmptyState>
  );
}
