import { createContext, useCallback, useContext, useEffect, useState, useSyncExternalStore } from "react";

/** `system`: follows the system's preference. */
type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "sluice.theme";

export function storedTheme(storage: Storage): Theme {
  const value = storage.getItem(STORAGE_KEY);
  return value === "light" || value === "dark" ? value : "system";
}

/** Applies a theme and stores it. Without the attribute the system's preference applies. */
export function applyTheme(theme: Theme, root: HTMLElement, storage: Storage): void {
  if (theme === "system") {
    delete root.dataset.theme;
    storage.removeItem(STORAGE_KEY);
  } else {
    root.dataset.theme = theme;
    storage.setItem(STORAGE_KEY, theme);
  }
}

/** The theme after a press of the toggle: the opposite of the theme in effect. */
export function toggledTheme(theme: Theme, systemIsDark: boolean): Theme {
  const isDark = theme === "dark" || (theme === "system" && systemIsDark);
  return isDark ? "light" : "dark";
}

/** The theme in effect, for charts: a canvas must be drawn again when it changes. */
export const ThemeContext = createContext<"light" | "dark">("light");

export function useShownTheme(): "light" | "dark" {
  return useContext(ThemeContext);
}

const SYSTEM_IS_DARK = "(prefers-color-scheme: dark)";

interface ThemeControl {
  readonly isDark: boolean;
  toggle(): void;
}

export function useTheme(): ThemeControl {
  const [theme, setTheme] = useState<Theme>(() => storedTheme(localStorage));
  const systemIsDark = useSyncExternalStore(watchSystem, () => matchMedia(SYSTEM_IS_DARK).matches);
  useEffect(() => applyTheme(theme, document.documentElement, localStorage), [theme]);
  const toggle = useCallback(() => setTheme((now) => toggledTheme(now, systemIsDark)), [systemIsDark]);
  return { isDark: theme === "dark" || (theme === "system" && systemIsDark), toggle };
}

function watchSystem(onChange: () => void): () => void {
  const query = matchMedia(SYSTEM_IS_DARK);
  query.addEventListener("change", onChange);
  return () => query.removeEventListener("change", onChange);
}
