import { useMutation } from "@tanstack/react-query";
import { useApi } from "../../../api/api-context.js";
import { Button } from "../../../ui/controls/button.js";
import { Badge } from "../../../ui/data/badge.js";
import { Failure } from "../../../ui/feedback/failure.js";
import { visibleText } from "../../../words/visible-text.js";
import { CHANNEL_WORDS } from "./notification-words.js";

/** Sends a test over the saved channels and shows what happened. */
export function TestNotification({ isSetUp }: { isSetUp: boolean }) {
  const api = useApi();
  const test = useMutation({ mutationFn: () => api.notifications.test() });
  return (
    <div className="stack-tight">
      <div className="row-apart">
        <p className="soft grow">
          {isSetUp
            ? "A test goes to every saved channel."
            : "Nothing is sent yet: choose a webhook or an email address, and save."}
        </p>
        <Button icon="deliveries" disabled={!isSetUp} busy={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? "Sending…" : "Send a test"}
        </Button>
      </div>
      <div role="status" className="stack-tight">
        {test.isError && <Failure error={test.error} />}
        {test.data?.items.map(({ channel, state, detail }) => (
          <p key={channel} className="row">
            <Badge tone={state === "sent" ? "good" : "bad"}>
              {CHANNEL_WORDS[channel]} {state === "sent" ? "sent" : "failed"}
            </Badge>
            <span className="grow">{visibleText(detail, 500)}</span>
          </p>
        ))}
      </div>
    </div>
  );
}
