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
    <Page title="Profiles" lead="The traits, ids, audiences and computed traits of one user.">
      <Card>
        <EmptyState icon="profile" title="Look up a user">
          <p>Enter a user id, or the anonymous id of a visitor who was never identified.</p>
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
