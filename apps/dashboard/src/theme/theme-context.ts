import { createContext, useContext } from "react";

/** Which theme is seen: for what draws on a canvas and must draw again when it changes. */
export const ThemeContext = createContext<"light" | "dark">("light");

export function useShownTheme(): "light" | "dark" {
  return useContext(ThemeContext);
}
