import { errorWords } from "../../words/errors.js";
import { Button } from "../controls/button.js";
import { DefinitionLinks } from "../data/definition-links.js";
import { Icon } from "../icon.js";

/** What went wrong, in a sentence, with the code for whoever looks it up. */
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
          Try again
        </Button>
      )}
    </div>
  );
}
