import { useCallback, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { CurrentPage } from "../pages/current-page.js";
import { useSignOut } from "../session/session.js";
import { ThemeContext } from "../theme/theme-context.js";
import { useTheme } from "../theme/use-theme.js";
import { IconButton } from "../ui/controls/button.js";
import { Icon, Logo } from "../ui/icon.js";
import { Dialog } from "../ui/layout/dialog.js";
import { CollectorBadge } from "./collector-badge.js";
import { ConnectionNotice } from "./connection-notice.js";
import { Navigation } from "./navigation.js";
import { Palette } from "./palette.js";
import { ShortcutHelp } from "./shortcut-help.js";
import type { ShortcutAction } from "./shortcuts.js";
import { useShortcuts } from "./use-shortcuts.js";

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
 * the loaded page replaces the focused element. A press of the mouse ends it.
 */
function useFocusOnNavigation(path: string): void {
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    const page = document.querySelector("#page");
    const focusHeading = () => page?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    focusHeading();
    const replaced = new MutationObserver(() => {
      if (document.activeElement === document.body) focusHeading();
    });
    if (page !== null) replaced.observe(page, { childList: true, subtree: true });
    const stop = () => replaced.disconnect();
    addEventListener("pointerdown", stop);
    return () => {
      stop();
      removeEventListener("pointerdown", stop);
    };
  }, [path]);
}
