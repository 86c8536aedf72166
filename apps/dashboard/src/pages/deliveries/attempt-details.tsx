import type { AttemptView } from "@sluice/control-api";
import { duration } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import { attemptTone } from "./attempt-tone.js";

/** One attempt: the URL and the status, on demand the request headers and the response body. */
export function AttemptDetails({ attempt }: { attempt: AttemptView }) {
  const headers = Object.entries(attempt.requestHeaders ?? {});
  return (
    <div className="attempt">
      <p className="attempt-head small">
        <span className={`badge tone-${attemptTone(attempt)}`}>
          {attempt.status ?? attempt.error?.code ?? "done"}
        </span>
        <span className="number">{duration(attempt.latencyMs)}</span>
        <span className="mono soft">{visibleText(attempt.url, 300)}</span>
        {attempt.address && <span className="faint">at {attempt.address}</span>}
      </p>
      {attempt.error && <p className="small">{visibleText(attempt.error.message, 500)}</p>}
      {(headers.length > 0 || attempt.response) && (
        <details className="more">
          <summary>Request and response</summary>
          {headers.length > 0 && (
            <>
              <h4>Request headers</h4>
              <pre className="code-text code-wrap">
                {headers.map(([name, value]) => `${visibleText(name)}: ${visibleText(value)}`).join("\n")}
              </pre>
            </>
          )}
          <h4>Response body{attempt.response ? " (first 4 KB)" : ""}</h4>
          {attempt.response ? (
            <pre className="code-text code-wrap">{visibleText(attempt.response, 4_096)}</pre>
          ) : (
            <p className="small faint">Empty.</p>
          )}
        </details>
      )}
    </div>
  );
}
