import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { applyTheme, storedTheme, type Theme, toggledTheme } from "./theme.js";

const SYSTEM_IS_DARK = "(prefers-color-scheme: dark)";

export interface ThemeControl {
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
