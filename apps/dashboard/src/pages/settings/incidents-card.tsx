import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { Link } from "wouter";
import { useDestinations } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";

/** Who is notified of incidents. */
export function IncidentsCard() {
  const destinations = useDestinations().data;
  const notified = destinations?.filter(({ sourceIds }) => sourceIds.includes(INCIDENT_SOURCE_ID)) ?? [];
  return (
    <Card
      title="Notifications"
      note={`A message of the built-in source ${INCIDENT_SOURCE_ID} when something goes wrong, and one when it is over`}
    >
      <div className="row-apart">
        <p className="soft grow">
          {notified.length === 0
            ? "No destination gets them yet. A webhook or another type can, like those of any source."
            : "Sent to "}
          {notified.map(({ id, name }, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <Link href={addresses.destination(id)}>{visibleText(name, 80)}</Link>
            </span>
          ))}
        </p>
        <ButtonLink icon="webhook" href={addresses.catalog({ source: INCIDENT_SOURCE_ID })}>
          Connect a destination
        </ButtonLink>
      </div>
    </Card>
  );
}
