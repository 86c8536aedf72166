import { Link } from "wouter";
import { useAudiences, useComputedTraits } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";

/** Links to audiences and computed traits, by name. */
export function DefinitionLinks({ ids }: { ids: readonly string[] }) {
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
