import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { earlyEnd } from "../src/index.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

describe("work that may be left", () => {
  it("ends as it ends by itself", async () => {
    const closing = earlyEnd<"left">();
    expect(await closing.within(Promise.resolve("done"))).toBe("done");
    await expect(closing.within(Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  });

  it("is left at the end, all of it, and whatever begins later", async () => {
    const closing = earlyEnd<"left">();
    const never = new Promise<"done">(() => {});
    const both = [closing.within(never), closing.within(never)];
    closing.end("left");
    expect(await Promise.all(both)).toEqual(["left", "left"]);
    expect(await closing.within(Promise.resolve("done"))).toBe("left");
  });

  it("keeps no result, however long there is no end", async () => {
    const closing = earlyEnd<"left">();
    let last: "left" | { readonly text: string } | undefined = await closing.within(
      Promise.resolve({ text: "of a message" }),
    );
    const kept = new WeakRef(last as object);
    last = undefined;
    await new Promise(setImmediate);
    collectGarbage();
    expect(kept.deref()).toBe(last);
    closing.end("left");
  });
});
