import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { Link, useLocation } from "wouter";
import { clockSkewMs } from "../api/collector-clock.js";
import { useApi, useInfo } from "../api/queries.js";
import { CurrentPage } from "../pages/current-page.js";
import { useCurrentProblems } from "../pages/overview/problems.js";
import { addresses } from "../routing/addresses.js";
import { useSignOut } from "../session/session.js";
import { ThemeContext, useTheme } from "../theme/theme.js";
import { IconButton } from "../ui/controls/button.js";
import { Time } from "../ui/data/facts.js";
import { useNotify } from "../ui/feedback.js";
import { Icon, Logo } from "../ui/icon.js";
import { Dialog } from "../ui/layout/dialog.js";
import { counted } from "../words/numbers.js";
import { exactTime } from "../words/times.js";
import { NAVIGATION_ITEMS, Navigation } from "./navigation.js";
import { Palette } from "./palette.js";
import type { ShortcutAction } from "./shortcuts.js";
import { useShortcuts } from "./shortcuts.js";

type Overlay = "none" | "palette" | "help" | "menu";

/** The frame of every page. */
export function Shell() {
  const [path, navigate] = useLocation();
  const theme = useTheme();
  const signOut = useSignOut();
  const [overlay, setOverlay] = useState<Overlay>("none");
  const close = useCallback(() => setOverlay("none"), []);
  useShortcuts((action: ShortcutAction) => {
    if (action.kind === "go") navigate(action.href);
    else if (action.kind === "theme") theme.toggle();
    else setOverlay(action.kind);
  });
  useFocusOnNavigation(path);
  return (
    <ThemeContext value={theme.isDark ? "dark" : "light"}>
      <a className="skip-link" href="#page">
        Skip to content
      </a>
      <div className="shell">
        <header className="top-bar">
          <IconButton icon="menu" label="Pages" onClick={() => setOverlay("menu")} />
          <Link href="/" className="brand">
            <Logo size={24} />
            Sluice
          </Link>
          <IconButton icon="search" label="Search" onClick={() => setOverlay("palette")} />
        </header>
        <aside className="side">
          <Link href="/" className="brand">
            <Logo size={26} />
            Sluice
          </Link>
          <button type="button" className="search-button" onClick={() => setOverlay("palette")}>
            <Icon name="search" />
            <span className="grow">Search</span>
            <kbd>Ctrl K</kbd>
          </button>
          <Navigation />
          <SideFoot isDark={theme.isDark} onTheme={theme.toggle} onHelp={() => setOverlay("help")} />
        </aside>
        <ConnectionNotice />
        <main id="page" className="main">
          <CurrentPage />
        </main>
      </div>
      <Dialog open={overlay === "menu"} onClose={close} title="Sluice" side="left">
        <Navigation onFollow={close} />
        <SideFoot isDark={theme.isDark} onTheme={theme.toggle} onHelp={() => setOverlay("help")} />
      </Dialog>
      <Palette open={overlay === "palette"} onClose={close} onTheme={theme.toggle} onSignOut={signOut} />
      <ShortcutHelp open={overlay === "help"} onClose={close} />
    </ThemeContext>
  );
}

function SideFoot({ isDark, onTheme, onHelp }: { isDark: boolean; onTheme: () => void; onHelp: () => void }) {
  return (
    <footer className="side-foot">
      <CollectorBadge />
      <div className="row">
        <IconButton
          icon={isDark ? "sun" : "moon"}
          label={isDark ? "Light theme" : "Dark theme"}
          onClick={onTheme}
        />
        <IconButton icon="question" label="Keyboard shortcuts" onClick={onHelp} />
      </div>
    </footer>
  );
}

/**
 * Moves the focus to the heading of a new page, so that screen readers announce it and Tab starts there. Repeats that when
 * the loaded page replaces or disables the focused element; where somebody tabbed on, out of the page too, the focus stays.
 * A press of the mouse ends it.
 */
function useFocusOnNavigation(path: string): void {
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    const page = document.querySelector("#page");
    const focusHeading = () => page?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    focusHeading();
    let focused = document.activeElement;
    const follow = () => {
      focused = document.activeElement;
    };
    addEventListener("focusin", follow);
    const replaced = new MutationObserver(() => {
      if (document.activeElement !== document.body) return;
      const isLost = focused === null || !focused.isConnected || focused.matches("body, :disabled");
      if (isLost) focusHeading();
    });
    if (page !== null) replaced.observe(page, { childList: true, subtree: true });
    const stop = () => {
      replaced.disconnect();
      removeEventListener("focusin", follow);
    };
    addEventListener("pointerdown", stop);
    return () => {
      stop();
      removeEventListener("pointerdown", stop);
    };
  }, [path]);
}

/** The mode and region of the collector, and how many problems the overview has. */
function CollectorBadge() {
  const { data, isError } = useInfo();
  const { found } = useCurrentProblems();
  if (isError) return <BadgeLine tone="bad" text="Collector unreachable" />;
  if (data === undefined) return <BadgeLine tone="quiet" text="Connecting…" />;
  if (data.storage.kind === "unavailable") return <BadgeLine tone="bad" text="Disk not writable" />;
  const where = [data.mode === "dev" ? "Dev" : "Production", data.region].filter(Boolean).join(" · ");
  const title = `Version ${data.version} on Node ${data.node}, since ${exactTime(data.startedAt)}`;
  const [worst] = found;
  if (worst === undefined) return <BadgeLine tone="good" text={where} title={title} />;
  return (
    <Link href={addresses.overview()} className={`collector-badge tone-${worst.tone}`} title={title}>
      <span className="dot" aria-hidden="true" />
      {where} · {counted(found.length, "problem")}
    </Link>
  );
}

function BadgeLine({ tone, text, title }: { tone: string; text: string; title?: string }) {
  return (
    <p className={`collector-badge tone-${tone}`} title={title}>
      <span className="dot" aria-hidden="true" />
      {text}
    </p>
  );
}

/** How often the page tries to reach the collector again. */
const PROBE_MS = 1_000;

/** Shown while the collector cannot be reached. Retries until it answers, then reloads all data. */
function ConnectionNotice() {
  const { connection, info } = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const state = useSyncExternalStore(connection.watch, connection.get);
  const wasLost = useRef(false);
  useQuery({
    queryKey: ["probe"],
    queryFn: info,
    enabled: state.kind === "lost",
    refetchInterval: PROBE_MS,
    retry: false,
    gcTime: 0,
  });
  useEffect(() => {
    if (wasLost.current && state.kind === "answers") {
      notify("Connected to the collector again");
      void queries.invalidateQueries();
    }
    wasLost.current = state.kind === "lost";
  }, [state.kind, queries, notify]);
  if (state.kind === "answers") return null;
  return (
    <div className="connection-notice" role="alert">
      <Icon name="alert" />
      <p>
        The collector cannot be reached (since{" "}
        <Time at={new Date(state.sinceMs + clockSkewMs()).toISOString()} />
        ). The page shows the last known data and retries every second.
      </p>
    </div>
  );
}

const GENERAL: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["Ctrl", "K"], "Command palette (⌘ K on a Mac)"],
  [["/"], "Filter messages, on the live page"],
  [["Space"], "Pause or resume, on the live page"],
  [["↑", "↓"], "Move in the list; Enter opens"],
  [["Ctrl", "S"], "Save a transformation (⌘ S on a Mac)"],
  [["Shift", "T"], "Toggle light and dark theme"],
  [["?"], "Show this list"],
];

function ShortcutHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts">
      <div className="shortcut-columns">
        <ShortcutList entries={GENERAL} />
        <ShortcutList entries={NAVIGATION_ITEMS.map((item) => [["g", item.key], item.label])} />
      </div>
    </Dialog>
  );
}

function ShortcutList({
  entries,
}: {
  entries: readonly (readonly [keys: readonly string[], what: string])[];
}) {
  return (
    <dl className="shortcuts">
      {entries.map(([keys, what]) => (
        <div key={what}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
