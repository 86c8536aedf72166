import { useState } from "react";
import { useLocation } from "wouter";
import { addresses } from "../../routing/addresses.js";
import { InlineForm } from "../../ui/controls/inline-form.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Card, Page } from "../../ui/layout/page.js";

export function ProfilesPage() {
  const [, navigate] = useLocation();
  const [userId, setUserId] = useState("");
  return (
    <Page title="Profiles" lead="The traits, ids, audiences and computed traits of one user.">
      <Card>
        <EmptyState icon="profile" title="Look up a user">
          <p>Enter a user id, or the anonymous id of a visitor who was never identified.</p>
          <InlineForm
            className="lookup"
            label="User id"
            button="Look up"
            look="primary"
            value={userId}
            onChange={setUserId}
            onSubmit={(id) => id !== "" && navigate(addresses.profile(id))}
          />
        </EmptyState>
      </Card>
    </Page>
  );
}
