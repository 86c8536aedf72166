import { createContext, useContext } from "react";

/** The theme in effect, for charts: a canvas must be drawn again when it changes. */
export const ThemeContext = createContext<"light" | "dark">("light");

export function useShownTheme(): "light" | "dark" {
  return useContext(ThemeContext);
}
