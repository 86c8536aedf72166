import { AdminError } from "@sluice/admin-client";
import { type FormEvent, useState } from "react";
import { controlApi } from "../api/control-api.js";
import { Button } from "../ui/controls/button.js";
import { TextField } from "../ui/controls/field.js";
import { Logo } from "../ui/icon.js";
import { errorWords } from "../words/errors.js";

export function SignInPage({
  wasRefused,
  onSignIn,
}: {
  wasRefused: boolean;
  onSignIn: (token: string) => void;
}) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(wasRefused ? "The token is not valid. Sign in again." : "");
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim();
    if (given === "") return setError("Enter an admin token.");
    setBusy(true);
    try {
      await controlApi({ token: given }).info();
      onSignIn(given);
    } catch (failure) {
      const isWrong = failure instanceof AdminError && failure.status === 401;
      setError(isWrong ? "This token is not valid." : `${errorWords(failure).title}.`);
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <form className="sign-in-card" onSubmit={submit}>
        <Logo size={40} />
        <div className="stack-tight">
          <h1>Sign in to Sluice</h1>
          <p className="soft">
            <code>sluice dev</code> prints a URL that signs you in. The first token of a production collector
            is in its configuration, or in the file <code>admin-token</code> in its data folder.
          </p>
        </div>
        <TextField
          label="Admin token"
          type="password"
          name="token"
          autoComplete="current-password"
          autoFocus
          value={token}
          error={error || undefined}
          onChange={(event) => setToken(event.target.value)}
        />
        <Button type="submit" look="primary" busy={busy}>
          Sign in
        </Button>
        <p className="small faint">The token is stored in this tab only, until you close it.</p>
      </form>
    </main>
  );
}
