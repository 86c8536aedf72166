/** `system`: follows the system's preference. */
export type Theme = "system" | "light" | "dark";

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
