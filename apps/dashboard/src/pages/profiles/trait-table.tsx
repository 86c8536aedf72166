import { useState } from "react";
import { Button } from "../../ui/controls/button.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Table } from "../../ui/data/table.js";
import { counted } from "../../words/numbers.js";
import { visibleText, visibleValue } from "../../words/visible-text.js";

/** A profile can have 1,000 traits. */
const SHOWN_AT_FIRST = 25;

/** Traits by name, one a row. Objects and lists can be opened. */
export function TraitTable({
  traits,
  label,
  none,
}: {
  traits: { readonly [name: string]: unknown };
  label: string;
  none: string;
}) {
  const [isWhole, setWhole] = useState(false);
  const all = Object.entries(traits).sort(([one], [other]) => one.localeCompare(other));
  if (all.length === 0) return <p className="soft card-text">{none}</p>;
  const shown = isWhole ? all : all.slice(0, SHOWN_AT_FIRST);
  return (
    <>
      <Table
        label={`${label}, by name`}
        items={shown}
        keyOf={([name]) => name}
        columns={[
          {
            head: "Name",
            lead: true,
            cell: ([name]) => <span className="mono">{visibleText(name, 60)}</span>,
          },
          { head: "Value", cell: ([name, value]) => <TraitValue name={name} value={value} /> },
          { head: "Type", align: "end", cell: ([, value]) => typeOf(value) },
        ]}
      />
      {shown.length < all.length && (
        <div className="list-more">
          <Button size="small" onClick={() => setWhole(true)}>
            Show all {counted(all.length, "trait")}
          </Button>
        </div>
      )}
    </>
  );
}

function TraitValue({ name, value }: { name: string; value: unknown }) {
  if (typeof value !== "object" || value === null) return visibleValue(value, 300);
  return <JsonTree value={value} label={visibleText(name, 60)} />;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value === "string" ? "text" : typeof value;
}
