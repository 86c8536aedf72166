import { Link } from "wouter";
import { useAudiences, useComputedTraits } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { errorWords } from "../../words/errors.js";
import { Button } from "../controls/button.js";
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

/** Links to audiences and computed traits, by name. */
function DefinitionLinks({ ids }: { ids: readonly string[] }) {
  const audiences = useAudiences().data ?? [];
  const traits = useComputedTraits().data ?? [];
  return ids.map((id, index) => {
    const trait = traits.find((one) => one.id === id);
    const name = trait?.name ?? audiences.find((one) => one.id === id)?.name ?? id;
    return (
      <span key={id}>
        {index > 0 && ", "}
        <Link href={trait === undefined ? addresses.audience(id) : addresses.computedTrait(id)}>{name}</Link>
      </span>
    );
  });
}
