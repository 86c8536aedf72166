import { errorWords } from "../../words/errors.js";
import { Button } from "../controls/button.js";
import { DefinitionLinks } from "../data/definition-links.js";
import { Icon } from "../icon.js";

/** An error in one sentence, with the API's error code. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const words = errorWords(error);
  return (
    <div className="failure" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <strong>{words.title}</strong>
        {words.detail && (
          <p>
            {words.detail}
            {words.about && (
              <>
                {" "}
                <DefinitionLinks ids={words.about} />
              </>
            )}
          </p>
        )}
        {words.code && <p className="small mono">{words.code}</p>}
      </div>
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          Retry
        </Button>
      )}
    </div>
  );
}
