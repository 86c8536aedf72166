import type { TransformationResult, TransformationTest } from "@sluice/control-api";
import { isPlainObject, type JsonObject } from "@sluice/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../../api/queries.js";
import { usePreview } from "../../definitions/definition-kind.js";
import { ANY_SOURCE, idIn, type Origin } from "../origins.js";
import type { TransformationDraft } from "../use-save.js";

/** Newest messages that the code is tried on. */
const TRIED = 20;

/** What the code is tried on. */
export type TrialInput =
  | { readonly kind: "newest"; readonly of: Origin }
  /** A message as JSON. */
  | { readonly kind: "pasted"; readonly text: string };

/** The code's results for some messages, one of which is chosen; they follow what is typed. */
export type Trial = ReturnType<typeof useTrial>;

export function useTrial(
  id: string | undefined,
  { code, language }: Pick<TransformationDraft, "code" | "language">,
) {
  const [input, setInput] = useState<TrialInput>({ kind: "newest", of: ANY_SOURCE });
  const [chosenIndex, choose] = useState(0);
  const origin = input.kind === "newest" ? input.of : ANY_SOURCE;
  const { sourceId, destinationId } = idIn(origin);
  const newest = useNewestMessages(sourceId);
  const pasted = input.kind === "pasted" ? parsedMessage(input.text) : undefined;
  const stored = newest.data ?? [];
  const messages = input.kind === "newest" ? stored.map(({ message }) => message) : pasted ? [pasted] : [];
  const on: Pick<TransformationTest, "messages" | "messageIds" | "destinationId"> =
    input.kind === "pasted"
      ? { messages }
      : {
          messageIds: stored.map(({ messageId }) => messageId),
          ...(destinationId === undefined ? {} : { destinationId }),
        };
  const isComplete = messages.length > 0 && code.trim() !== "";
  const test: TransformationTest = { ...(id === undefined ? {} : { id }), code, language, ...on };
  const query = usePreview("transformation-test", isComplete ? test : undefined, (api, wanted, signal) =>
    api.transformations.test(wanted, signal),
  );
  const results = isComplete ? (query.data?.results ?? []) : [];
  const resultOf = (index: number): TransformationResult | undefined => {
    if (input.kind === "pasted") return results[0];
    return results.find(({ messageId }) => messageId === stored[index]?.messageId);
  };
  return {
    input,
    setInput: (next: TrialInput) => {
      setInput(next);
      choose(0);
    },
    newest,
    messages,
    query,
    resultOf,
    chosenIndex,
    choose,
    chosen: resultOf(chosenIndex),
  };
}

/**
 * They stay the same until the user asks for newer ones, so that results can be compared while the code changes. Of a destination, those of
 * any source: what it does not get has no result.
 */
function useNewestMessages(sourceId: string | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ["newest-messages", sourceId],
    queryFn: async () => {
      const of = sourceId === undefined ? {} : { sourceId };
      return (await api.messages.list({ ...of, limit: TRIED })).items;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Undefined: the text is not a JSON object. */
export function parsedMessage(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
