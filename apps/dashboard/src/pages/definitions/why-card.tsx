import { type ReactNode, useState } from "react";
import { InlineForm } from "../../ui/controls/inline-form.js";
import { Card } from "../../ui/layout/page.js";

/** Asks for a user id and explains the definition's result for that user. */
export function WhyCard({
  title,
  note,
  userId,
  children,
}: {
  title: string;
  note: string;
  /** The user to begin with; empty: none. */
  userId: string;
  children: (userId: string) => ReactNode;
}) {
  const [asked, setAsked] = useState(userId);
  const [text, setText] = useState(userId);
  return (
    <Card title={title} note={note}>
      <div className="stack">
        <InlineForm label="User id" button="Explain" value={text} onChange={setText} onSubmit={setAsked} />
        {asked !== "" && children(asked)}
      </div>
    </Card>
  );
}
