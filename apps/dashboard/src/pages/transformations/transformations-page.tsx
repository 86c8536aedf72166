import type { TransformationView } from "@sluice/control-api";
import { Link } from "wouter";
import { useNames, useTransformations } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { EmptyState } from "../../ui/feedback.js";
import { ListCard, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";

export function TransformationsPage() {
  const transformations = useTransformations();
  const isEmpty = transformations.data?.length === 0;
  return (
    <Page
      title="Transformations"
      lead={
        <>
          A function of your own changes, splits or drops messages before they are delivered.{" "}
          <a href={addresses.guide("guide/transformations")}>Guide</a>
        </>
      }
      actions={
        <ButtonLink look={isEmpty ? "plain" : "primary"} icon="plus" href={addresses.newTransformation()}>
          New transformation
        </ButtonLink>
      }
    >
      <ListCard
        query={transformations}
        empty={
          <EmptyState
            icon="code"
            title="No transformations yet"
            action={
              <ButtonLink look="primary" icon="plus" href={addresses.newTransformation()}>
                New transformation
              </ButtonLink>
            }
          >
            <p>
              Rename an event, hash an e-mail address, or drop bots: write a few lines or start from ready
              ones, try them on your newest messages, then attach them to a destination or a source. The
              stored messages stay as they are.
            </p>
          </EmptyState>
        }
      >
        {(items) => <TransformationTable items={items} />}
      </ListCard>
    </Page>
  );
}

function TransformationTable({ items }: { items: readonly TransformationView[] }) {
  const names = useNames();
  const attachedTo = ({ destinationIds, sourceIds }: TransformationView) =>
    [...destinationIds.map(names.destination), ...sourceIds.map(names.source)].join(", ");
  return (
    <Table
      label="Transformations, oldest first"
      oneLine="names"
      items={items}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          lead: true,
          cell: ({ id, name }) => (
            <Link className="strong-link" href={addresses.transformation(id)} title={name}>
              {visibleText(name)}
            </Link>
          ),
        },
        {
          head: "Version in force",
          align: "end",
          cell: ({ current, newest }) => (current === newest ? current : `${current} of ${newest}`),
        },
        {
          head: "Attached to",
          cell: (one) => {
            const text = visibleText(attachedTo(one));
            return text === "" ? <span className="soft">Nothing</span> : <span title={text}>{text}</span>;
          },
        },
        { head: "Last change", align: "end", cell: ({ changedAt }) => <Time at={changedAt} /> },
      ]}
    />
  );
}
