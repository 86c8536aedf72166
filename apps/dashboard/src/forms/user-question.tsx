import { type FormEvent, useState } from "react";
import { Button } from "../ui/controls/button.js";
import { TextField } from "../ui/controls/field.js";

/** Asks for the user to explain. */
export function UserQuestion({ userId, onAsk }: { userId: string; onAsk: (userId: string) => void }) {
  const [text, setText] = useState(userId);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAsk(text.trim());
  };
  return (
    <form className="row inline-form" onSubmit={submit}>
      <TextField
        label="User id"
        hideLabel
        placeholder="User id"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit">Explain</Button>
    </form>
  );
}
