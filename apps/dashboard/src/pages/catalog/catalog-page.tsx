import type { CatalogEntryView } from "@sluice/control-api";
import { Link } from "wouter";
import { useCatalog } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { QueryView } from "../../ui/feedback.js";
import { Icon } from "../../ui/icon.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { catalogWords } from "../destinations/catalog-words.js";
import { SOURCE_KINDS } from "../sources/source-kinds.js";

export function CatalogPage() {
  const catalog = useCatalog();
  return (
    <Page
      title="Catalog"
      lead="Destination types. Choose one to connect it to your sources."
      up={{ href: addresses.destinations(), label: "Destinations" }}
    >
      <QueryView query={catalog} canRetry>
        {({ items, unusable }) => (
          <>
            <ul className="tiles">
              {items.map((entry) => (
                <li key={entry.type}>
                  <CatalogTile entry={entry} />
                </li>
              ))}
            </ul>
            {unusable.length > 0 && (
              <Card title="Packages that cannot be used" note="Their destinations keep their messages">
                <ul className="lines">
                  {unusable.map((one) => (
                    <li key={one.package}>
                      <strong className="mono">{visibleText(one.package, 100)}</strong>
                      <span className="grow">{visibleText(one.message, 400)}</span>
                    </li>
                  ))}
                </ul>
              </Card>
            )}
          </>
        )}
      </QueryView>
    </Page>
  );
}

function CatalogTile({ entry }: { entry: CatalogEntryView }) {
  const words = catalogWords(entry);
  const source = useAddressQuery().get("source") ?? "";
  return (
    <Link className="tile" href={addresses.connect(entry.type, { source })}>
      <span className="tile-icon">
        <Icon name={words.icon} size={20} />
      </span>
      <strong>{entry.name}</strong>
      <span className="soft">{words.lead}</span>
      <span className="small faint">
        {entry.sources.map((kind) => SOURCE_KINDS[kind].label).join(", ")} sources ·{" "}
        {entry.historical ? "accepts historical messages" : "no historical messages"}
      </span>
    </Link>
  );
}
