import { lazy, type ReactNode, Suspense } from "react";
import { Link, Redirect, Route, Switch } from "wouter";
import { useAudienceEngine, useAudiences, useNames } from "../api/queries.js";
import { addresses, decodedParams } from "../routing/addresses.js";
import { Button, ButtonLink } from "../ui/controls/button.js";
import { EmptyState, Skeleton } from "../ui/feedback.js";
import { Icon } from "../ui/icon.js";
import { Card, Page } from "../ui/layout/page.js";
import { count, counted } from "../words/numbers.js";
import { AudienceEditPage, NewAudiencePage } from "./audiences/audience-form.js";
import { AudiencePage } from "./audiences/audience-page.js";
import { CatalogPage, ConnectPage } from "./catalog/catalog-page.js";
import { ClusterPage } from "./cluster/cluster-page.js";
import { ComputedTraitPage } from "./computed-traits/computed-trait-page.js";
import { ComputedTraitsPage } from "./computed-traits/computed-traits-page.js";
import { AUDIENCES } from "./definitions/definition-kind.js";
import { DefinitionList } from "./definitions/definition-list.js";
import { DeletionsPage } from "./deletions/deletions-page.js";
import { DeliveriesPage } from "./deliveries/deliveries-page.js";
import { DestinationPage } from "./destinations/destination-page.js";
import { DestinationsPage } from "./destinations/destinations-page.js";
import { LivePage } from "./live/live-page.js";
import { MessagePage } from "./message/message-page.js";
import { OverviewPage } from "./overview/overview-page.js";
import { ProfilePage } from "./profiles/profile-page.js";
import { ProfilesPage } from "./profiles/profiles-page.js";
import { SettingsPage } from "./settings/settings-page.js";
import { EventsPage } from "./sources/events-page.js";
import { SourcePage } from "./sources/source-page.js";
import { SourcesPage } from "./sources/sources-page.js";
import { TransformationsPage } from "./transformations/transformations-page.js";
import { WarningsPage } from "./warnings/warnings-page.js";

/** Loaded when it is opened, because the code editor is as large as half of the other pages. */
const TransformationPage = lazy(() =>
  import("./transformations/transformation-page.js").catch(() => ({ default: NotLoadedPage })),
);

type Params = Readonly<Record<string, string>>;

/** The first matching pattern wins. The `key` remounts a page for another id, so that its forms start empty. */
const PAGES: readonly (readonly [pattern: string, page: (params: Params) => ReactNode])[] = [
  ["/", () => <OverviewPage />],
  ["/live", () => <LivePage />],
  ["/messages/:id", ({ id = "" }) => <MessagePage key={id} messageId={id} />],
  ["/deliveries", () => <DeliveriesPage />],
  ["/warnings", () => <WarningsPage />],
  ["/sources", () => <SourcesPage />],
  ["/sources/:id", ({ id = "" }) => <SourcePage key={id} id={id} />],
  ["/sources/:id/events", ({ id = "" }) => <EventsPage key={id} sourceId={id} />],
  ["/catalog", () => <CatalogPage />],
  ["/catalog/:type", ({ type = "" }) => <ConnectPage key={type} type={type} />],
  ["/destinations", () => <DestinationsPage />],
  ["/destinations/new", () => <Redirect to={addresses.catalog()} replace />],
  ["/destinations/:id", ({ id = "" }) => <DestinationPage key={id} id={id} />],
  ["/transformations", () => <TransformationsPage />],
  ["/transformations/:id", ({ id = "" }) => <TransformationPage key={id} id={id} />],
  ["/audiences", () => <AudiencesPage />],
  ["/audiences/new", () => <NewAudiencePage />],
  ["/audiences/:id", ({ id = "" }) => <AudiencePage key={id} id={id} />],
  ["/audiences/:id/edit", ({ id = "" }) => <AudienceEditPage key={id} id={id} />],
  ["/computed-traits", () => <ComputedTraitsPage />],
  ["/computed-traits/:id", ({ id = "" }) => <ComputedTraitPage key={id} id={id} />],
  ["/profiles", () => <ProfilesPage />],
  ["/profiles/:id", ({ id = "" }) => <ProfilePage key={id} userId={id} />],
  ["/deletions", () => <DeletionsPage />],
  ["/cluster", () => <ClusterPage />],
  ["/settings", () => <SettingsPage />],
];

export function CurrentPage() {
  return (
    <Switch>
      {PAGES.map(([pattern, page]) => (
        <Route key={pattern} path={pattern}>
          {(encoded: Params) => {
            const params = decodedParams(encoded);
            if (params === undefined) return <NotFoundPage />;
            return <Suspense fallback={<LoadingPage />}>{page(params)}</Suspense>;
          }}
        </Route>
      ))}
      <Route>
        <NotFoundPage />
      </Route>
    </Switch>
  );
}

function LoadingPage() {
  return (
    <Page title="Loading">
      <Card>
        <Skeleton />
      </Card>
    </Page>
  );
}

/** The collector was restarted with another version, or cannot be reached. */
function NotLoadedPage() {
  return (
    <Page title="Page not loaded">
      <EmptyState
        icon="alert"
        title="This page could not be loaded"
        action={<Button onClick={() => location.reload()}>Reload</Button>}
      />
    </Page>
  );
}

function NotFoundPage() {
  return (
    <Page title="Page not found">
      <EmptyState
        icon="question"
        title="There is no page at this address"
        action={<ButtonLink href={addresses.overview()}>Overview</ButtonLink>}
      />
    </Page>
  );
}

function AudiencesPage() {
  return (
    <DefinitionList
      kind={AUDIENCES}
      lead="Groups of users who meet your conditions. Destinations get every change within a second."
      query={useAudiences()}
      add={(look) => (
        <ButtonLink look={look} icon="plus" href={addresses.newAudience()}>
          New audience
        </ButtonLink>
      )}
      example="For example: users on the pro plan with at least three orders in the last 30 days. You see the members while you build it."
      column={{ head: "Members", align: "end", cell: (one) => count(one.size) }}
    >
      <SkippedMessagesNotice />
    </DefinitionList>
  );
}

/** Messages that audiences and computed traits skip because evaluating them failed repeatedly. */
function SkippedMessagesNotice() {
  const { data } = useAudienceEngine();
  const names = useNames();
  const [first] = data?.setAside ?? [];
  if (data === undefined || first === undefined) return null;
  const { messageId, sourceId } = first;
  const messages = data.setAside.reduce((sum, one) => sum + one.messages, 0);
  return (
    <div className="failure" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <strong>{counted(messages, "message")} skipped</strong>
        <p>
          Evaluation failed repeatedly, so audiences and computed traits skip{" "}
          {messages === 1 ? "this message" : "these messages"}. First:{" "}
          {messageId === undefined ? (
            "an unreadable request"
          ) : (
            <Link className="strong-link mono" href={addresses.message(messageId, sourceId)}>
              {messageId}
            </Link>
          )}{" "}
          from source {names.source(sourceId)}. Destinations still get {messages === 1 ? "it" : "them"}.
          Please report the error in the collector's log, with the message.
        </p>
      </div>
    </div>
  );
}
