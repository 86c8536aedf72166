import { checkCut, checkSingle } from "../../../differential/cut-verdicts.js";
import { textTarget } from "../../engine/target.js";

export const batchCuts = textTarget({
  name: "batch-cuts",
  rule: "a batch that is cut by its users has the messages and users that the parser finds, in the same order, and nothing else is cut",
  runs: 1_500,
  alphabet: "bytes",
  dictionary: [
    ...['"userId":"u"', '"anonymousId":"a"', '"user\\u0049d":"u"', '"userId":42', '"userId":null'],
    ...['"batch":[', '"b\\u0061tch":[', '"deliver":false', '"context":{', '{"userId":"v"},', '"__proto__":{'],
    ...["\\u0075", "\\", '\\"', "1e999", "-0", ",", ":", "{", "}", "[", "]", "\xef\xbb\xbf", "\xc3"],
  ],
  maxLength: 1_500,
  check(input) {
    const body = Buffer.from(input, "latin1");
    checkCut(body);
    checkSingle(body);
  },
});
