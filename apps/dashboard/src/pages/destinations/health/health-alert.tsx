import type { DestinationStatusView, DestinationView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { HEALTH_KEY, useApi } from "../../../api/queries.js";
import { addresses } from "../../../routing/addresses.js";
import { Button } from "../../../ui/controls/button.js";
import { DueTime, Time } from "../../../ui/data/facts.js";
import { Failure, useNotify } from "../../../ui/feedback.js";
import { Icon, type IconName } from "../../../ui/icon.js";
import { visibleText } from "../../../words/messages.js";
import { counted, duration } from "../../../words/numbers.js";
import type { Tone } from "../../../words/states.js";
import { healthWords, needsAttention } from "../../../words/states.js";
import { draftOf, settingsOf } from "../settings/settings-draft.js";

/** What is wrong with a destination and what to do about it. Nothing if it is healthy. */
export function HealthAlert({
  destination,
  status,
}: {
  destination: DestinationView;
  status: DestinationStatusView;
}) {
  const { health, disabledUrls = [] } = status;
  if (health === "disabled")
    return (
      <Alert tone="quiet" icon="pause">
        <p>
          This destination is disabled: messages of its sources are skipped.
          {status.waiting > 0 &&
            ` ${counted(status.waiting, "earlier message")} wait and are sent once you enable it.`}
        </p>
      </Alert>
    );
  const { tone } = healthWords(health);
  return (
    <>
      {health !== "url_disabled" && health !== "partly_disabled" && needsAttention(health) && (
        <Alert tone={tone}>
          <Attention destination={destination} status={status} />
        </Alert>
      )}
      {disabledUrls.length > 0 && (
        <Alert tone={healthWords(health === "url_disabled" ? health : "partly_disabled").tone}>
          <UrlDisabled destination={destination} status={status} />
        </Alert>
      )}
    </>
  );
}

function Alert({ tone, icon = "alert", children }: { tone: Tone; icon?: IconName; children: ReactNode }) {
  return (
    <div className={`alert tone-${tone}`}>
      <Icon name={icon} />
      {children}
    </div>
  );
}

interface AlertParts {
  readonly destination: DestinationView;
  readonly status: DestinationStatusView;
}

function UrlDisabled({ destination, status: { health, disabledUrls = [] } }: AlertParts) {
  const urls = <span className="mono">{disabledUrls.map((url) => visibleText(url, 200)).join(", ")}</span>;
  const isOne = disabledUrls.length === 1;
  return (
    <div className="row-apart grow">
      {health === "url_disabled" ? (
        <p className="grow">
          This destination answered 410 Gone, so {isOne ? "its URL is" : "its URLs are"}{" "}
          <strong>disabled</strong> and nothing is sent to {urls}. When the receiver works again, enable{" "}
          {isOne ? "it" : "them"}, then retry <FailedLink id={destination.id} />.
        </p>
      ) : (
        <p className="grow">
          {isOne ? "A URL" : "Some URLs"} of this destination answered 410 Gone and {isOne ? "is" : "are"}{" "}
          <strong>disabled</strong>: {urls}. Messages are sent to the other URLs only.
        </p>
      )}
      <EnableUrls destination={destination} />
    </div>
  );
}

/** What is wrong, since when, and what to do. */
function Attention({ destination, status }: AlertParts) {
  const { health, reason, since, nextAttemptAt, retries, waiting } = status;
  const cure = cureOf(status);
  return (
    <p>
      <strong>{healthWords(health).label}</strong>
      {since && (
        <>
          , began <Time at={since} />
        </>
      )}
      . {visibleText(reason, 240)}.
      {health === "backing_off" &&
        ` ${counted(waiting, "message")} ${waiting === 1 ? "waits" : "wait"} in the backlog; none are lost.`}
      {nextAttemptAt && (
        <>
          {" "}
          Next attempt <DueTime at={nextAttemptAt} />.
        </>
      )}
      {health === "failing" && (
        <>
          {retries > 0 &&
            ` ${counted(retries, "message")} will be retried for up to ${duration(destination.retryForMs)}.`}{" "}
          Once it is fixed, send a test, then retry <FailedLink id={destination.id} />.
        </>
      )}
      {cure && (
        <>
          {" "}
          <Link href={addresses.destination(destination.id, { tab: "settings", field: cure.field })}>
            {cure.label}
          </Link>
        </>
      )}
    </p>
  );
}

function FailedLink({ id }: { id: string }) {
  return <Link href={addresses.destination(id, { tab: "failures" })}>what failed</Link>;
}

/** The setting that a failure is about. */
function cureOf({ lastError = "" }: DestinationStatusView) {
  if (/\((401|403)\)|signing secret/.test(lastError))
    return { field: "sharedSecret", label: "Change the secret" } as const;
  if (/\((3\d\d|404|405|501)\)|the URL|host name/i.test(lastError))
    return { field: "webhooks", label: "Change the URL" } as const;
  return undefined;
}

/** Enables the URLs that answered 410 Gone: saving the unchanged list of URLs does that. */
function EnableUrls({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const save = useMutation({
    mutationFn: () =>
      api.destinations.patch(destination.id, {
        settings: settingsOf(draftOf(destination.settings), { properties: { webhooks: {} } }),
        version: destination.version,
      }),
    onSuccess: () => notify("Enabled: messages are sent to all URLs again"),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["destinations"] }),
        queries.invalidateQueries({ queryKey: HEALTH_KEY }),
      ]),
  });
  return (
    <>
      <Button size="small" busy={save.isPending} onClick={() => save.mutate()}>
        Enable again
      </Button>
      {save.isError && <Failure error={save.error} />}
    </>
  );
}
