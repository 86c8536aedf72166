import { createContext, useContext } from "react";
import type { ControlApi } from "./control-api.js";

export const ApiContext = createContext<ControlApi | undefined>(undefined);

export function useApi(): ControlApi {
  const api = useContext(ApiContext);
  if (api === undefined) throw new Error("useApi outside of a signed-in session");
  return api;
}
