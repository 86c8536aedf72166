/** Runs TypeScript beside the page. It is large, so that only the page of a transformation loads it. */
import * as checker from "virtual:type-checker";
import library from "virtual:type-library";
import { type CodeTypes, openCodeTypes } from "./checked-code.js";

/** What the page asks. `modules`: from now on, code may import these. */
export type TypesRequest = { readonly id: number } & (
  | { readonly ask: "modules"; readonly modules: { readonly [name: string]: string } }
  | { readonly ask: "mistakes"; readonly code: string }
  | { readonly ask: "hover" | "members"; readonly code: string; readonly at: number }
);

let types: CodeTypes | undefined;

function answer(request: TypesRequest): unknown {
  if (request.ask === "modules") types = openCodeTypes(checker, { library, modules: request.modules });
  else if (request.ask === "mistakes") return types?.mistakes(request.code);
  else return types?.[request.ask](request.code, request.at);
  return undefined;
}

self.addEventListener("message", ({ data }: MessageEvent<TypesRequest>) => {
  try {
    self.postMessage({ id: data.id, answer: answer(data) });
  } catch (error) {
    // Code that is being typed may be of a shape that the checker does not expect: nothing is known of it.
    self.postMessage({ id: data.id });
    console.warn(error);
  }
});
