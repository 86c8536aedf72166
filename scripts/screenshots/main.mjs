// `npm run screenshots`: makes the pictures of README.md and docs/guide/dashboard.md in docs/images, from a collector with a fixed
// scene. Needs a build (`npm run build`) and Chromium.
import { mkdir, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./browser.mjs";
import { recordFailureStory } from "./failure-story.mjs";
import { takePictures } from "./pictures.mjs";
import { openShop } from "./scene.mjs";

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const MOST_BYTES = { ".png": 160 * 1_024, ".gif": 1_500 * 1_024 };

const browser = await openBrowser();
await mkdir(IMAGES, { recursive: true });
for (const make of [takePictures, recordFailureStory]) {
  const shop = await openShop();
  try {
    for (const [name, bytes] of await make({ browser, shop })) await writeFile(IMAGES + name, bytes);
  } finally {
    await shop.close();
  }
}
await browser.close();

for (const name of ["overview.png", "deliveries.png", "message.png", "failure-story.gif"]) {
  const { size } = await stat(IMAGES + name);
  const most = MOST_BYTES[name.slice(-4)];
  process.stdout.write(`docs/images/${name}: ${Math.round(size / 1_024)} KB\n`);
  if (size <= most) continue;
  process.stderr.write(`${name} has ${size} bytes, at most ${most} are allowed\n`);
  process.exitCode = 1;
}
