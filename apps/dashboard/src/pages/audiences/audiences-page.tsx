import { useAudiences } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { count } from "../../words/numbers.js";
import { AUDIENCES } from "../definitions/definition-kind.js";
import { DefinitionList } from "../definitions/definition-list.js";
import { SkippedMessagesNotice } from "./skipped-messages-notice.js";

export function AudiencesPage() {
  return (
    <DefinitionList
      kind={AUDIENCES}
      lead="Groups of users who meet your conditions. Destinations get every change within a second."
      query={useAudiences()}
      add={(look) => (
        <ButtonLink look={look} icon="plus" href={addresses.newAudience()}>
          New audience
        </ButtonLink>
      )}
      example="For example: users on the pro plan with at least three orders in the last 30 days. You see the members while you build it."
      column={{ head: "Members", align: "end", cell: (one) => count(one.size) }}
    >
      <SkippedMessagesNotice />
    </DefinitionList>
  );
}
