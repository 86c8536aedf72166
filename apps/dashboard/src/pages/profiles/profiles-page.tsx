import type { ProfileListView, ProfileSummaryView } from "@sluice/control-api";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { InlineForm } from "../../ui/controls/field.js";
import { Time } from "../../ui/data/facts.js";
import { type Column, Table } from "../../ui/data/table.js";
import { EmptyState, QueryView } from "../../ui/feedback.js";
import { Card, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { count } from "../../words/numbers.js";
import { idOf, UserLink } from "../definitions/definition-parts.js";

const PAGE_SIZE = 50;

export function ProfilesPage() {
  const q = new URLSearchParams(useSearch()).get("q") ?? "";
  return (
    <Page title="Profiles" lead="Users and visitors, with their traits and audiences. The newest are first.">
      <SearchForm key={q} q={q} />
      <ProfileList q={q} />
    </Page>
  );
}

function SearchForm({ q }: { q: string }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState(q);
  return (
    <div className="stack-tight">
      <InlineForm
        className="lookup"
        label="Search profiles"
        placeholder="An id, an email, or trait:value"
        button="Search"
        look="primary"
        value={text}
        onChange={setText}
        onSubmit={(wanted) => navigate(addresses.profiles(wanted))}
      />
      <p className="small soft">
        Finds a part of any id or trait. <code>plan:pro</code> searches one trait.
      </p>
    </div>
  );
}

function ProfileList({ q }: { q: string }) {
  const api = useApi();
  const found = useInfiniteQuery({
    queryKey: ["profiles", "list", q],
    queryFn: ({ pageParam }) => api.profiles.list({ q, limit: PAGE_SIZE, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: ProfileListView) => page.nextCursor,
    select: ({ pages }) => ({
      items: pages.flatMap(({ items }) => items),
      searched: pages.reduce((sum, { searched }) => sum + searched, 0),
      total: pages.at(-1)?.total ?? 0,
    }),
    placeholderData: keepPreviousData,
  });
  return (
    <Card flush>
      <QueryView query={found}>
        {({ items, searched, total }) => (
          <>
            {items.length === 0 && !found.hasNextPage ? (
              <NoProfiles q={q} />
            ) : (
              <ProfileTable profiles={items} isSearch={q !== ""} />
            )}
            <footer className="list-more">
              {total > 0 && (
                <p className="small soft" role="status">
                  {count(items.length)} shown. {count(Math.min(searched, total))} of {count(total)} profiles
                  searched.
                </p>
              )}
              {found.hasNextPage && (
                <Button
                  size="small"
                  busy={found.isFetchingNextPage}
                  onClick={() => void found.fetchNextPage()}
                >
                  {q === "" ? "Show more" : "Search further"}
                </Button>
              )}
            </footer>
          </>
        )}
      </QueryView>
    </Card>
  );
}

function NoProfiles({ q }: { q: string }) {
  return q === "" ? (
    <EmptyState icon="profile" title="No profiles yet">
      <p>The first message with a user id or an anonymous id creates one.</p>
    </EmptyState>
  ) : (
    <EmptyState icon="profile" title={`No profile matches ${visibleText(q, 60)}`}>
      <p>Check the spelling, or search for a part of the id, email or trait.</p>
    </EmptyState>
  );
}

function ProfileTable({
  profiles,
  isSearch,
}: {
  profiles: readonly ProfileSummaryView[];
  isSearch: boolean;
}) {
  const match: Column<ProfileSummaryView> = {
    head: "Match",
    cell: ({ match: at }) =>
      at === undefined ? "–" : `${visibleText(at.field, 40)}: ${visibleText(at.value, 60)}`,
  };
  return (
    <Table
      label="Profiles, newest first"
      oneLine
      items={profiles}
      keyOf={idOf}
      columns={[
        { head: "User", lead: true, cell: (one) => <UserLink user={one} /> },
        ...(isSearch ? [match] : []),
        { head: "Traits", cell: traitsLine },
        { head: "Audiences", align: "end", cell: (one) => one.audienceCount || "–" },
        { head: "Last seen", align: "end", cell: (one) => <Time at={one.lastSeenAt} /> },
      ]}
    />
  );
}

const SHOWN_TRAITS = 3;

function traitsLine({ traits, traitCount }: ProfileSummaryView): string {
  const shown = Object.entries(traits).slice(0, SHOWN_TRAITS);
  const text = shown.map(([name, value]) => `${visibleText(name, 24)}: ${visibleText(value, 32)}`).join(", ");
  const others = traitCount - shown.length;
  return text === "" ? "–" : `${text}${others > 0 ? ` and ${others} more` : ""}`;
}
