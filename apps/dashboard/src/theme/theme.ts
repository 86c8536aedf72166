/** Light, dark, or as the system has it. */
export type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "sluice.theme";

export function storedTheme(storage: Storage): Theme {
  const value = storage.getItem(STORAGE_KEY);
  return value === "light" || value === "dark" ? value : "system";
}

/** Shows a theme and remembers it; without an attribute the system's preference holds. */
export function applyTheme(theme: Theme, root: HTMLElement, storage: Storage): void {
  if (theme === "system") {
    delete root.dataset.theme;
    storage.removeItem(STORAGE_KEY);
  } else {
    root.dataset.theme = theme;
    storage.setItem(STORAGE_KEY, theme);
  }
}

/** What the next press of the toggle shows: always the other one of what is seen now. */
export function toggledTheme(theme: Theme, systemIsDark: boolean): Theme {
  const isDark = theme === "dark" || (theme === "system" && systemIsDark);
  return isDark ? "light" : "dark";
}
