import { Link } from "wouter";
import { useTransformations } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { SelectField } from "../ui/controls/field.js";
import { visibleText } from "../words/visible-text.js";

/** Selects the transformation of a destination or a source. Empty: none. */
export function TransformationChoice({
  chosen,
  of,
  error,
  onChange,
}: {
  chosen: string;
  of: "destination" | "source";
  error?: string | undefined;
  onChange: (id: string) => void;
}) {
  const transformations = useTransformations().data ?? [];
  return (
    <SelectField
      label="Transformation"
      hint={
        <>
          {of === "source"
            ? "Runs before messages of this source are delivered anywhere."
            : "Runs after the filters, before a message is delivered."}{" "}
          {chosen === "" ? (
            <Link href={addresses.transformations()}>All transformations</Link>
          ) : (
            <Link href={addresses.transformation(chosen)}>Open it</Link>
          )}
        </>
      }
      error={error}
      options={[["", "None"], ...transformations.map(({ id, name }) => [id, visibleText(name, 80)] as const)]}
      value={chosen}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
