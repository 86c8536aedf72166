import { lazy, type ReactNode, Suspense } from "react";
import { Redirect, Route, Switch } from "wouter";
import { addresses } from "../routing/addresses.js";
import { decodedParams } from "../routing/path-encoding.js";
import { Button, ButtonLink } from "../ui/controls/button.js";
import { EmptyState } from "../ui/feedback/empty-state.js";
import { Skeleton } from "../ui/feedback/skeleton.js";
import { Card, Page } from "../ui/layout/page.js";
import { AudienceEditPage, NewAudiencePage } from "./audiences/audience-edit-page.js";
import { AudiencePage } from "./audiences/audience-page.js";
import { AudiencesPage } from "./audiences/audiences-page.js";
import { CatalogPage } from "./catalog/catalog-page.js";
import { ConnectPage } from "./catalog/connect-page.js";
import { ClusterPage } from "./cluster/cluster-page.js";
import { ComputedTraitPage } from "./computed-traits/computed-trait-page.js";
import { ComputedTraitsPage } from "./computed-traits/computed-traits-page.js";
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
