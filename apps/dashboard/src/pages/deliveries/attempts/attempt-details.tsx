import type { AttemptView, RequestBodyView } from "@sluice/control-api";
import { Link } from "wouter";
import { addresses } from "../../../routing/addresses.js";
import { CodeBlock } from "../../../ui/data/code-block.js";
import { bytes, counted, duration } from "../../../words/numbers.js";
import { escapeHidden, visibleText } from "../../../words/visible-text.js";
import { attemptTone } from "./attempt-tone.js";

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
