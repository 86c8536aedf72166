import { CodeText } from "../../ui/data/code-block.js";
import { visibleText } from "../../words/messages.js";

/** The issues of a message. */
export function IssueList({
  issues,
}: {
  issues: readonly { readonly code: string; readonly path: string; readonly message: string }[];
}) {
  return (
    <ul className="issues">
      {issues.map((issue) => (
        <li key={`${issue.code} ${issue.path}`}>
          <strong>
            <CodeText text={issue.message} limit={400} />
          </strong>
          <span className="small mono faint">
            {issue.code}
            {issue.path && ` at ${visibleText(issue.path, 200)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
