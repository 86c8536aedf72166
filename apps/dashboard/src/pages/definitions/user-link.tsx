import { Link } from "wouter";
import { addresses } from "../../routing/addresses.js";
import { visibleText } from "../../words/visible-text.js";

/** A user as lists of members and values name it; anonymous users have only an anonymous id. */
export interface ListedUser {
  readonly userId?: string;
  readonly anonymousId?: string;
}

/** The id under which the API knows the user. */
export function idOf({ userId, anonymousId }: ListedUser): string {
  return userId ?? anonymousId ?? "";
}

export function UserLink({ user, className = "mono" }: { user: ListedUser; className?: string }) {
  const id = idOf(user);
  return (
    <Link className={className} href={addresses.profile(id)}>
      {visibleText(user.userId ?? `${id} (anonymous)`, 80)}
    </Link>
  );
}
