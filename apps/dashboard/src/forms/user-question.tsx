import { useState } from "react";
import { InlineForm } from "../ui/controls/inline-form.js";

/** Asks for the user to explain. */
export function UserQuestion({ userId, onAsk }: { userId: string; onAsk: (userId: string) => void }) {
  const [text, setText] = useState(userId);
  return <InlineForm label="User id" button="Explain" value={text} onChange={setText} onSubmit={onAsk} />;
}
