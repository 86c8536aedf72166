import { type ReactNode, useState } from "react";
import { UserQuestion } from "../../forms/user-question.js";
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
  return (
    <Card title={title} note={note}>
      <div className="stack">
        <UserQuestion userId={userId} onAsk={setAsked} />
        {asked !== "" && children(asked)}
      </div>
    </Card>
  );
}
