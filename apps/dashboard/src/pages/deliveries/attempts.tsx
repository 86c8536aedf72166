import type { AttemptView, DeliveryView, RequestBodyView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { CodeBlock } from "../../ui/data/code-block.js";
import { StateBadge, Time } from "../../ui/data/facts.js";
import { Failure, Skeleton } from "../../ui/feedback.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { escapeHidden, visibleText } from "../../words/messages.js";
import { bytes, counted, duration } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";

export function attemptTone(attempt: AttemptView): Tone {
  if (attempt.status !== undefined && attempt.status >= 200 && attempt.status < 300) return "good";
  return attempt.error === undefined && attempt.status === undefined ? "good" : "bad";
}

/** One attempt: the URL and the status, on demand the request and the response. `requestBody`: that of the delivery's attempts. */
export function AttemptDetails({
  attempt,
  requestBody,
}: {
  attempt: AttemptView;
  requestBody?: RequestBodyView | undefined;
}) {
  const hasDetails = [attempt.requestHeaders, attempt.response, attempt.responseHeaders, requestBody].some(
    (one) => one !== undefined,
  );
  /** The transformation that failed, so that nothing was sent. */
  const failed = /^transformation:(.+)$/.exec(attempt.url)?.[1];
  return (
    <div className="attempt">
      <p className="attempt-head small">
        <span className={`badge tone-${attemptTone(attempt)}`}>
          {attempt.status ?? attempt.error?.code ?? "done"}
        </span>
        <span className="number">{duration(attempt.latencyMs)}</span>
        {failed === undefined ? (
          <span className="mono soft">{visibleText(attempt.url, 300)}</span>
        ) : (
          <Link href={addresses.transformation(failed)}>
            {visibleText(attempt.transformation ?? "Transformation", 300)}
          </Link>
        )}
        {attempt.address && <span className="faint">at {attempt.address}</span>}
      </p>
      {failed === undefined && attempt.transformation && (
        <p className="small soft">Transformed by {visibleText(attempt.transformation, 300)}</p>
      )}
      {attempt.error && <p className="small">{visibleText(attempt.error.message, 500)}</p>}
      {attempt.status === undefined && attempt.response && (
        <p className="small">{visibleText(attempt.response, 500)}</p>
      )}
      {hasDetails && (
        <details className="more">
          <summary>Request and response</summary>
          <Headers title="Request headers" headers={attempt.requestHeaders} />
          {requestBody && <RequestBody body={requestBody} attemptAt={attempt.at} />}
          <Headers
            title="Response headers"
            headers={attempt.responseHeaders}
            leftOut={attempt.responseHeadersLeftOut}
          />
          {attempt.status !== undefined && <ResponseBody text={attempt.response} />}
        </details>
      )}
    </div>
  );
}

function Headers({
  title,
  headers = {},
  leftOut = 0,
}: {
  title: string;
  headers?: AttemptView["responseHeaders"];
  leftOut?: number | undefined;
}) {
  const lines = Object.entries(headers).map(([name, value]) => `${visibleText(name)}: ${visibleText(value)}`);
  if (lines.length === 0 && leftOut === 0) return null;
  return (
    <>
      <h4>{title}</h4>
      <CodeBlock label={title} code={lines.join("\n")} wrap />
      {leftOut > 0 && <p className="small faint">{counted(leftOut, "more header")} not stored.</p>}
    </>
  );
}

/** Characters of a body to show. The copy button copies all that the API sent. */
const SHOWN_CHARACTERS = 8_192;

function RequestBody({ body, attemptAt }: { body: RequestBodyView; attemptAt: string }) {
  const { text, settingsChangedAt } = body;
  const isChanged = settingsChangedAt !== undefined && Date.parse(settingsChangedAt) > Date.parse(attemptAt);
  const isCut = text.length > SHOWN_CHARACTERS || new TextEncoder().encode(text).length < body.bytes;
  return (
    <>
      <h4>Request body</h4>
      {isChanged && (
        <p className="small soft">
          Shown with today's settings: they changed after this attempt, which may have sent another body.
        </p>
      )}
      <CodeBlock
        label="Request body"
        code={escapeHidden(text.slice(0, SHOWN_CHARACTERS))}
        whole={escapeHidden(text)}
        wrap
      />
      {isCut && <p className="small faint">The start of {bytes(body.bytes)}.</p>}
    </>
  );
}

function ResponseBody({ text = "" }: { text?: string | undefined }) {
  return (
    <>
      <h4>Response body{text === "" ? "" : " (first 4 KB)"}</h4>
      {text === "" ? (
        <p className="small faint">Empty.</p>
      ) : (
        <CodeBlock label="Response body" code={visibleText(text, 4_096)} wrap />
      )}
    </>
  );
}

/** All attempts of one delivery, each with request and response. */
export function AttemptsDialog({
  delivery,
  onClose,
}: {
  delivery: DeliveryView | undefined;
  onClose: () => void;
}) {
  return (
    <Dialog open={delivery !== undefined} onClose={onClose} title="Attempts, oldest first">
      {delivery && <Attempts id={delivery.id} />}
    </Dialog>
  );
}

function Attempts({ id }: { id: string }) {
  const api = useApi();
  const delivery = useQuery({ queryKey: ["deliveries", "one", id], queryFn: () => api.deliveries.get(id) });
  if (delivery.isError) return <Failure error={delivery.error} />;
  if (delivery.isPending) return <Skeleton lines={3} />;
  const { attempts, state, reason, requestBody } = delivery.data;
  return (
    <div className="stack">
      <p className="row">
        <StateBadge state={state} />
        <span className="soft">{visibleText(reason, 300)}</span>
      </p>
      {attempts.length === 0 && <p className="soft">No attempts were made.</p>}
      <ol className="stack">
        {attempts.map((attempt) => (
          <li key={`${attempt.attempt} ${attempt.url} ${attempt.at}`} className="stack-tight">
            <p className="small">
              <strong>Attempt {attempt.attempt}</strong> <span className="faint">·</span>{" "}
              <Time at={attempt.at} />
            </p>
            <AttemptDetails attempt={attempt} requestBody={requestBody} />
          </li>
        ))}
      </ol>
    </div>
  );
}
