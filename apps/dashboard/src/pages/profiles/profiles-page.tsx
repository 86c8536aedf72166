import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { TextField } from "../../ui/controls/field.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Card, Page } from "../../ui/layout/page.js";

export function ProfilesPage() {
  const [, navigate] = useLocation();
  const [userId, setUserId] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (userId.trim() !== "") navigate(addresses.profile(userId.trim()));
  };
  return (
    <Page title="Profiles" lead="What is known of one user: traits, ids, audiences, computed traits.">
      <Card>
        <EmptyState icon="profile" title="Look a user up">
          <p>By user id, or by anonymous id for somebody who was never identified.</p>
          <form className="row inline-form lookup" onSubmit={submit}>
            <TextField
              label="User id"
              hideLabel
              placeholder="User id"
              value={userId}
              onChange={(event) => setUserId(event.target.value)}
            />
            <Button look="primary" type="submit">
              Look up
            </Button>
          </form>
        </EmptyState>
      </Card>
    </Page>
  );
}
