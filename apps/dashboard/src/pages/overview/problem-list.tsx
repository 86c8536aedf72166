import { Link } from "wouter";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { Icon } from "../../ui/icon.js";
import { Card } from "../../ui/layout/page.js";
import { counted } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import type { Problem } from "./problems.js";

/** Destinations of a problem that are named. */
const NAMED = 3;

/** What is wrong, one row a cause. Nothing if there is nothing. */
export function ProblemList({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <Card title={counted(problems.length, "problem")} note="By cause, the worst first" flush>
      <Table
        label="Problems, the worst first"
        items={problems}
        keyOf={({ key }) => key}
        columns={[
          { head: "Problem", lead: true, cell: ProblemText },
          { head: "Where", cell: Where },
          { head: "Since", align: "end", cell: ({ since }) => (since ? <Time at={since} /> : "–") },
        ]}
      />
    </Card>
  );
}

function ProblemText({ tone, title, advice }: Problem) {
  return (
    <div className={`problem tone-${tone}`}>
      <Icon name="alert" />
      <div>
        <strong>{visibleText(title, 160)}</strong>
        {advice && <p className="small soft">{visibleText(advice, 300)}</p>}
      </div>
    </div>
  );
}

function Where({ destinations, more }: Problem) {
  if (more !== undefined)
    return (
      <ButtonLink size="small" href={addresses[more]()}>
        {more === "warnings" ? "Warnings" : "Settings"}
      </ButtonLink>
    );
  if (destinations.length === 0) return <>Collector</>;
  const others = destinations.slice(NAMED);
  return (
    <span>
      {destinations.slice(0, NAMED).map(({ id, name }) => (
        <Link key={id} className="list-link" href={addresses.destination(id)}>
          {visibleText(name, 60)}
        </Link>
      ))}
      {others.length > 0 && (
        <span className="soft" title={others.map(({ name }) => name).join("\n")}>
          {" "}
          and <Link href={addresses.destinations()}>{others.length} more</Link>
        </span>
      )}
    </span>
  );
}
