import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/api-context.js";
import type { ControlApi } from "../api/control-api.js";
import { useDebounced } from "../forms/use-debounced.js";
import { addresses } from "../routing/addresses.js";
import { messageTitle } from "../words/messages.js";
import { overallStateOf } from "../words/overall-state.js";
import { visibleText, visibleValue } from "../words/visible-text.js";
import type { PaletteCommand } from "./palette-commands.js";

/** Shorter texts are rarely ids. */
const SHORTEST = 2;

/** The message and the profile with this id, if there are any, with a preview. */
export function useFoundById(text: string): readonly PaletteCommand[] {
  const api = useApi();
  const id = useDebounced(text.trim());
  const found = useQuery({
    queryKey: ["by-id", id],
    queryFn: async () => (await Promise.all([messageById(api, id), profileById(api, id)])).flat(),
    enabled: id.length >= SHORTEST && !/[\s:"]/.test(id),
    staleTime: 10_000,
  });
  return id === text.trim() ? (found.data ?? []) : [];
}

async function messageById(api: ControlApi, id: string): Promise<PaletteCommand[]> {
  const found = await api.messages.get(id).catch(() => undefined);
  if (found === undefined) return [];
  const [title, state] =
    found.state === "accepted"
      ? [messageTitle(found.message), overallStateOf(found.outcomes).label]
      : ["Not valid", "Rejected"];
  const does = { kind: "go", href: addresses.message(id) } as const;
  return [{ id: "message", label: `Message ${id}`, icon: "file", hint: `${title} · ${state}`, does }];
}

async function profileById(api: ControlApi, id: string): Promise<PaletteCommand[]> {
  const found = await api.profiles.get(id).catch(() => undefined);
  if (found === undefined) return [];
  const [trait] = Object.entries(found.traits);
  const hint =
    trait === undefined ? "Profile" : `${visibleText(trait[0], 30)}: ${visibleValue(trait[1], 40)}`;
  const does = { kind: "go", href: addresses.profile(id) } as const;
  return [{ id: "profile", label: `Profile of user ${id}`, icon: "profile", hint, does }];
}
