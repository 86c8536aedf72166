import { checkRequest } from "../../../differential/request-verdicts.js";
import { textTarget } from "../../engine/target.js";

export const requestBytes = textTarget({
  name: "request-bytes",
  rule: "the byte scanner of ingestion never accepts a request that parser and validator would not, and finds the same ids",
  runs: 2_000,
  alphabet: "bytes",
  dictionary: [
    ...[
      '"type":"track"',
      '"type":"alias"',
      '"userId":"u"',
      '"anonymousId":"a"',
      '"messageId":"m"',
      '"event":"e"',
      '"groupId":"g"',
      '"previousId":"p"',
    ],
    ...[
      '"context":{',
      '"library":{"name":"analytics.js"}',
      '"direct":true',
      '"writeKey":"wk"',
      '"deliver":false',
      '"batch":[',
      '"properties":{',
      '"traits":[]',
    ],
    ...[
      "\\u0075",
      "\\",
      "null",
      "1e999",
      ",",
      '"":',
      "\xef\xbb\xbf",
      "\xed\xa0\x80",
      "\xc3",
      "{",
      "}",
      "[",
      "]",
    ],
  ],
  maxLength: 1_500,
  check(input) {
    const body = Buffer.from(input, "latin1");
    for (const kind of [undefined, "track", "identify"] as const) checkRequest(body, kind);
  },
});
