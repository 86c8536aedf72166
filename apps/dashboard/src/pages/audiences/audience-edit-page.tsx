import { addresses } from "../../routing/addresses.js";
import { Page } from "../../ui/layout/page.js";
import { AUDIENCES } from "../definitions/definition-kind.js";
import { LoadedDefinition } from "../definitions/definition-page.js";
import { AudienceForm } from "./audience-form.js";

export function NewAudiencePage() {
  return (
    <Page
      title="New audience"
      lead="A group of users who meet your conditions. Every message updates it."
      up={AUDIENCES.up}
    >
      <AudienceForm />
    </Page>
  );
}

export function AudienceEditPage({ id }: { id: string }) {
  return (
    <LoadedDefinition kind={AUDIENCES} id={id}>
      {(audience) => (
        <Page title={`Edit ${audience.name}`} up={{ href: addresses.audience(id), label: audience.name }}>
          <AudienceForm audience={audience} />
        </Page>
      )}
    </LoadedDefinition>
  );
}
