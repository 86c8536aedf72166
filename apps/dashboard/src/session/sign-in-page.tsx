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
  const [error, setError] = useState(wasRefused ? "The token is not valid any more. Sign in again." : "");
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim();
    if (given === "") return setError("Paste an admin token first.");
    setBusy(true);
    try {
      await controlApi({ token: given }).info();
      onSignIn(given);
    } catch (failure) {
      const isWrong = failure instanceof AdminError && failure.status === 401;
      setError(isWrong ? "The collector does not know this token." : `${errorWords(failure).title}.`);
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
            <code>sluice dev</code> prints an address that signs you in. The first token of a production
            collector is the one it was configured with, or stands in the file <code>admin-token</code> of its
            data folder.
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
        <p className="small faint">It is kept in this tab only, and forgotten when the tab is closed.</p>
      </form>
    </main>
  );
}
