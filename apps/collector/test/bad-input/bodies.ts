import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

/** A body for `/v1/batch` (by default) with a valid write key, and the expected result. */
export interface BodyCase {
  readonly name: string;
  readonly body: string | Uint8Array;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly status: number;
  readonly code?: string;
  /** Messages that are stored afterwards. Default: 0. */
  readonly stored?: number;
  /** Codes of messages that are refused, by index. */
  readonly rejected?: Record<number, string>;
}

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const join = (...parts: (string | Uint8Array)[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
const good = (id: string): string => `{"type":"page","userId":"u1","messageId":"${id}"}`;
const batchOf = (...items: string[]): string => `{"batch":[${items.join(",")}]}`;

const malformed = (cases: readonly (readonly [name: string, body: string | Uint8Array])[]): BodyCase[] =>
  cases.map(([name, body]) => ({ name, body, status: 400, code: "malformed_json" }));

const NOT_JSON: BodyCase[] = malformed([
  ["nothing", ""],
  ["a blank", " "],
  ["line feeds", "\n\n\n"],
  ["an open brace", "{"],
  ["a closed brace", "}"],
  ["an open bracket", "["],
  ["a comma", ","],
  ["a colon", ":"],
  ["a key cut off", '{"'],
  ["an escape cut off", '{"\\'],
  ["the batch's key cut off", '{"batch'],
  ["a quote", '"'],
  ["nul", "nul"],
  ["undefined", "undefined"],
  ["NaN", "NaN"],
  ["Infinity", "Infinity"],
  ["-Infinity", "-Infinity"],
  ["True", "True"],
  ["a word", "hello"],
  ["single quotes", "{'batch':[]}"],
  ["bare keys", "{batch:[]}"],
  ["a comma at the end of an object", '{"batch":[],}'],
  ["a comma at the end of an array", `{"batch":[${good("x")},]}`],
  ["two commas", `{"batch":[${good("x")},,${good("y")}]}`],
  ["a comma at the beginning", `{"batch":[,${good("x")}]}`],
  ["a line comment", '{"batch":[] // none\n}'],
  ["a block comment", '/* */{"batch":[]}'],
  ["no colon", '{"batch" []}'],
  ["two colons", '{"batch"::[]}'],
  ["a key without a value", '{"batch":}'],
  ["a value without a key", "{[1]}"],
  ["a number as key", "{1:[]}"],
  ["an array that ends as an object", '{"batch":[}'],
  ["an object that ends as an array", '{"batch":[]]'],
  ["two documents", '{"batch":[]}{"batch":[]}'],
  ["JSON lines", `${good("x")}\n${good("y")}`],
  ["something behind", '{"batch":[]}x'],
  ["NUL behind", '{"batch":[]}\0'],
  ["NUL before", '\0{"batch":[]}'],
  ["NUL alone", "\0"],
  ["a million NULs' beginning", "\0".repeat(10_000)],
  ["a raw line feed in a string", `{"batch":[{"type":"page\n"}]}`],
  ["a raw tab in a string", `{"batch":[{"type":"a\tb"}]}`],
  ["a raw NUL in a string", `{"batch":[{"type":"a\0b"}]}`],
  ["an unknown escape", '{"batch":["\\x41"]}'],
  ["\\u with three digits", '{"batch":["\\u123"]}'],
  ["\\u with letters", '{"batch":["\\uZZZZ"]}'],
  ["\\u{…}", '{"batch":["\\u{1F388}"]}'],
  ["a backslash at the end", '{"batch":["\\'],
  ["a string without end", '{"batch":["abc'],
  ["a string that ends in an escaped quote", '{"batch":["abc\\"]}'],
  ["a leading zero", '{"batch":[01]}'],
  ["a plus", '{"batch":[+1]}'],
  ["a leading point", '{"batch":[.5]}'],
  ["a point at the end", '{"batch":[1.]}'],
  ["hexadecimal", '{"batch":[0x10]}'],
  ["an exponent without digits", '{"batch":[1e]}'],
  ["two signs", '{"batch":[--1]}'],
  ["underscores", '{"batch":[1_000]}'],
  ["a BigInt", '{"batch":[1n]}'],
  ["two points", '{"batch":[1.2.3]}'],
  ["a long number with a letter", '{"batch":[12345678901234567890x]}'],
  ["a non-breaking blank", '{"batch":\u00a0[]}'],
  ["a vertical tab", '{"batch":\v[]}'],
  ["a line separator", '\u2028{"batch":[]}'],
  ["two byte order marks", '\ufeff\ufeff{"batch":[]}'],
  ["a byte order mark alone", "\ufeff"],
  ["a byte order mark inside", '{"batch":\ufeff[]}'],
  ["XML", '<?xml version="1.0"?><batch/>'],
  ["HTML", "<!doctype html><script>alert(1)</script>"],
  ["YAML", "batch:\n  - type: page\n"],
  ["a form", "batch=%5B%5D&writeKey=x"],
  ["multipart", '--x\r\nContent-Disposition: form-data; name="batch"\r\n\r\n[]\r\n--x--\r\n'],
  ["JSONP", 'callback({"batch":[]})'],
  ["an XSSI prefix", ')]}\'\n{"batch":[]}'],
  ["a template", "{{batch}}"],
  ["SQL", "'; DROP TABLE messages; --"],
  ["a path", "../../../../etc/passwd"],
  ["a format string", "%s%s%s%n"],
  ["HTTP", "POST /v1/batch HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["a PNG", bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)],
  ["an ELF", bytes(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0)],
  ["a zip", bytes(0x50, 0x4b, 3, 4, 20, 0)],
  ["MessagePack", bytes(0x81, 0xa5, 0x62, 0x61, 0x74, 0x63, 0x68, 0x90)],
  ["CBOR", bytes(0xa1, 0x65, 0x62, 0x61, 0x74, 0x63, 0x68, 0x80)],
  ["BSON", bytes(5, 0, 0, 0, 0)],
  ["every byte", Uint8Array.from({ length: 256 }, (_, i) => i)],
  ["brackets without end", "[".repeat(100_000)],
  ["braces without end", '{"a":'.repeat(50_000)],
  ["quotes", '"'.repeat(99_999)],
  ["backslashes", "\\".repeat(100_000)],
  ["commas", `{"batch":[${",".repeat(400_000)}]}`],
  ["an item cut off", `{"batch":[${good("x")},{"type":"pa`],
]);

const NOT_UTF8: BodyCase[] = malformed([
  ["UTF-16, little endian", Buffer.from('{"batch":[]}', "utf16le")],
  ["UTF-16, big endian", Buffer.from('{"batch":[]}', "utf16le").swap16()],
  ["UTF-16 with a mark", join(bytes(0xff, 0xfe), Buffer.from('{"batch":[]}', "utf16le"))],
  ["Latin-1", Buffer.from(batchOf('{"type":"page","userId":"é"}'), "latin1")],
  ["a lone continuation byte", join('{"batch":["', bytes(0x80), '"]}')],
  ["an overlong slash", join('{"batch":["', bytes(0xc0, 0xaf), '"]}')],
  ["an overlong NUL", join('{"batch":["', bytes(0xc0, 0x80), '"]}')],
  ["an encoded surrogate", join('{"batch":["', bytes(0xed, 0xa0, 0x80), '"]}')],
  ["a CESU-8 pair", join('{"batch":["', bytes(0xed, 0xa0, 0xbc, 0xed, 0xbe, 0x88), '"]}')],
  ["beyond U+10FFFF", join('{"batch":["', bytes(0xf4, 0x90, 0x80, 0x80), '"]}')],
  ["five bytes", join('{"batch":["', bytes(0xf8, 0x88, 0x80, 0x80, 0x80), '"]}')],
  ["0xff", join('{"batch":["', bytes(0xff), '"]}')],
  ["a character cut off", join('{"batch":["', bytes(0xe2, 0x82), '"]}')],
  ["a character cut off by the end", join('{"batch":["', bytes(0xf0, 0x9f, 0x8e))],
]);

const invalid = (cases: readonly (readonly [name: string, body: string])[]): BodyCase[] =>
  cases.map(([name, body]) => ({ name, body, status: 400, code: "invalid_message" }));

const NO_BATCH: BodyCase[] = invalid([
  ["null", "null"],
  ["true", "true"],
  ["a number", "7"],
  ["a long number", "123456789012345678901234567890"],
  ["a string", '"batch"'],
  ["an array", "[]"],
  ["an array of messages", `[${good("x")}]`],
  ["an empty object", "{}"],
  ["a single message", good("x")],
  ["batch is null", '{"batch":null}'],
  ["batch is true", '{"batch":true}'],
  ["batch is a number", '{"batch":1}'],
  ["batch is a long number", '{"batch":12345678901234567890}'],
  ["batch is a string", '{"batch":"[]"}'],
  ["batch is an object", `{"batch":{"0":${good("x")},"length":1}}`],
  ["batch in capitals", '{"Batch":[]}'],
  ["messages", `{"messages":[${good("x")}]}`],
  ["batch inside of another field", `{"data":{"batch":[${good("x")}]}}`],
  ["batch in the prototype", `{"__proto__":{"batch":[${good("x")}]}}`],
  ["a batch, then null", `{"batch":[${good("x")}],"batch":null}`],
]);

const odd = (
  cases: readonly (readonly [
    name: string,
    body: string,
    stored: number,
    rejected?: Record<number, string>,
  ])[],
): BodyCase[] =>
  cases.map(([name, body, stored, rejected]) => ({
    name,
    body,
    status: 200,
    stored,
    ...(rejected === undefined ? {} : { rejected }),
  }));

const NO_OBJECT = "not_an_object";
const ODD_BATCHES: BodyCase[] = odd([
  ["an empty batch", '{"batch":[]}', 0],
  ["an empty batch with blanks", '{ "batch" : [ \n\t ] }', 0],
  [
    "items of every other kind",
    '{"batch":[null,true,false,0,-1.5,1e400,12345678901234567890,"","x",[],[[]]]}',
    0,
    Object.fromEntries(Array.from({ length: 11 }, (_, i) => [i, NO_OBJECT])),
  ],
  [
    "a good one between bad ones",
    batchOf("1", good("between"), "{}"),
    1,
    { 0: NO_OBJECT, 2: "type_unknown" },
  ],
  ["a batch in a batch", batchOf(batchOf(good("x"))), 0, { 0: "type_unknown" }],
  ["an array of messages as an item", batchOf(`[${good("x")}]`), 0, { 0: NO_OBJECT }],
  ["two batches: the last wins", `{"batch":[1,2,3],"batch":[${good("last")}]}`, 1],
  ["two batches, the first with too many items", `{"batch":[${"0,".repeat(3_000)}0],"batch":[]}`, 0],
  ["two batches, one spelled with escapes", `{"batch":[1,2],"b\\u0061tch":[${good("escaped")}]}`, 1],
  ["a batch, an escaped one, and a decoy", `{"\\u0062atch":[${good("decoy")}],"xbatch":[1,2]}`, 1],
  ["a string that looks like a batch", `{"note":"\\"batch\\":[1,2,3]","batch":[${good("note")}]}`, 1],
  ["brackets in strings", batchOf('{"type":"page","userId":"]}],[{\\\\","messageId":"brackets"}'), 1],
  [
    "a nested batch before the real one",
    `{"a":{"batch":[1]},"b":[{"batch":[2]}],"batch":[${good("real")}]}`,
    1,
  ],
  ["a field named like the prototype", `{"__proto__":[],"constructor":{},"batch":[${good("proto1")}]}`, 1],
  [
    "a user in the prototype",
    batchOf('{"type":"page","__proto__":{"userId":"u1"}}'),
    0,
    { 0: "no_user_anon_id" },
  ],
  [
    "a type in the prototype",
    batchOf('{"__proto__":{"type":"page"},"userId":"u1"}'),
    0,
    { 0: "type_unknown" },
  ],
  [
    "__proto__ as data",
    batchOf('{"type":"page","userId":"u1","properties":{"__proto__":{"isAdmin":true}}}'),
    1,
  ],
  [
    "constructor.prototype as data",
    batchOf('{"type":"page","userId":"u1","properties":{"constructor":{"prototype":{"x":1}}}}'),
    1,
  ],
  ["a toJSON field", batchOf('{"type":"page","userId":"u1","toJSON":"x","properties":{"toJSON":{}}}'), 1],
  ["a then field", batchOf('{"type":"page","userId":"u1","then":"x"}'), 1],
  ["a rawJSON field", batchOf('{"type":"page","userId":"u1","properties":{"rawJSON":"1"}}'), 1],
  [
    "fields of Object.prototype",
    batchOf('{"type":"page","userId":"u1","hasOwnProperty":1,"toString":2,"valueOf":null}'),
    1,
  ],
  ["userId twice: the last wins", batchOf('{"type":"page","userId":7,"userId":"u1"}'), 1],
  ["type twice", batchOf('{"type":"track","type":"page","userId":"u1"}'), 1],
  [
    "type twice, the last is bad",
    batchOf('{"type":"page","type":"x","userId":"u1"}'),
    0,
    { 0: "type_unknown" },
  ],
  ["an empty key", batchOf('{"type":"page","userId":"u1","":1}'), 1],
  ["a NUL in a key", batchOf('{"type":"page","userId":"u1","a\\u0000b":1}'), 1],
  ["a NUL in an id", batchOf('{"type":"page","userId":"a\\u0000b","messageId":"nul\\u0000id"}'), 1],
  [
    "lone surrogates",
    batchOf('{"type":"page","userId":"\\ud800","properties":{"\\udfff":"\\udc00\\ud800"}}'),
    1,
  ],
  ["non-characters", batchOf('{"type":"page","userId":"\\uffff\\ufffe","properties":{"x":"\\ufdd0"}}'), 1],
  ["text from right to left", batchOf('{"type":"page","userId":"\\u202eabc"}'), 1],
  [
    "numbers at the edges",
    batchOf(
      '{"type":"page","userId":"u1","properties":{"a":-0,"b":1e308,"c":5e-324,"d":1e400,"e":-1e400,"f":9007199254740993}}',
    ),
    1,
  ],
  [
    "a number of 10,000 digits",
    batchOf(`{"type":"page","userId":"u1","properties":{"n":${"9".repeat(10_000)}}}`),
    1,
  ],
  [
    "a fraction of 10,000 digits",
    batchOf(`{"type":"page","userId":"u1","properties":{"n":0.${"3".repeat(10_000)}}}`),
    1,
  ],
  [
    "an exponent of 10,000 digits",
    batchOf(`{"type":"page","userId":"u1","properties":{"n":1e${"9".repeat(10_000)}}}`),
    1,
  ],
  [
    "a string of escapes",
    batchOf(`{"type":"page","userId":"u1","properties":{"n":"${"\\u0041".repeat(5_000)}"}}`),
    1,
  ],
  [
    "3,000 keys",
    batchOf(
      `{"type":"page","userId":"u1","properties":{${Array.from({ length: 3_000 }, (_, i) => `"${i}":0`).join()}}}`,
    ),
    1,
  ],
  [
    "4,000 times the same key",
    batchOf(
      `{"type":"page","userId":"u1","properties":{${Array.from({ length: 4_000 }, () => `"a":0`).join()}}}`,
    ),
    1,
  ],
  [
    "keys that are indexes",
    batchOf(`{"type":"page","userId":"u1","properties":{"4294967294":1,"4294967295":2,"-1":3,"00":4}}`),
    1,
  ],
  [
    "a list of 10,000",
    batchOf(`{"type":"page","userId":"u1","properties":{"n":[${"0,".repeat(9_999)}0]}}`),
    1,
  ],
  [
    "context on the batch is text",
    `{"context":"x","integrations":7,"sentAt":{},"batch":[${good("ctx1")}]}`,
    1,
  ],
  [
    "context on the batch is a list",
    `{"context":[1],"integrations":[[]],"sentAt":[],"batch":[${good("ctx2")}]}`,
    1,
  ],
  ["context on the batch is a long number", `{"context":12345678901234567890,"batch":[${good("ctx3")}]}`, 1],
  ["a prototype in the batch's context", `{"context":{"__proto__":{"x":1}},"batch":[${good("ctx4")}]}`, 1],
  ["unknown fields on the batch", `{"foo":[{}],"bar":null,"batch":[${good("unknown")}]}`, 1],
  [
    "a source that the message names itself",
    batchOf('{"type":"page","userId":"u1","sourceId":"src_other","projectId":"x","workspaceId":"y"}'),
    1,
  ],
]);

/** Ids that go into places where quoting, paths, lines or terminals matter. All of them are just text. */
const HOSTILE_IDS: BodyCase[] = odd(
  [
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "../../../../etc/passwd",
    "..\\..\\windows",
    "/etc/passwd\u0000.png",
    "'; DROP TABLE messages; --",
    '" OR ""="',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as an attacker would send it.
    "${7*7}",
    "{{7*7}}",
    "%00%0a%0d",
    "a\r\nX-Injected: 1",
    "a\nb",
    "\u001b[2J\u001b]0;title\u0007",
    "<script>alert(1)</script>",
    "\u202e\u2066abc",
    "\ud800",
    "\u0000",
    " ",
    "\t",
    "null",
    "undefined",
    "00",
    "-1",
    "NaN",
    "true",
    "🎈".repeat(49),
    "é".repeat(99),
    "x".repeat(99),
    ",",
    "*",
    "%",
    "_",
    "a,b;c|d",
  ].map((id) => [
    `messageId ${JSON.stringify(id).slice(0, 40)}`,
    batchOf(JSON.stringify({ type: "page", userId: id, messageId: id })),
    1,
  ]),
);

const nested = (open: string, close: string, levels: number): string =>
  open.repeat(levels) + close.repeat(levels);
const deepMessage = (id: string, open: string, close: string, levels: number): string =>
  `{"type":"page","userId":"u1","messageId":"${id}","properties":{"a":${nested(open, close, levels)}}}`;

const NESTING: BodyCase[] = [
  ...odd([
    // The message and its properties are the first two levels.
    ["1,000 levels of arrays", batchOf(deepMessage("deep1", "[", "]", 998)), 1],
    [
      "1,001 levels of arrays",
      batchOf(deepMessage("deep2", "[", "]", 999), good("deep2g")),
      1,
      { 0: "nested_too_deep" },
    ],
    [
      "1,001 levels of objects",
      batchOf(good("deep3g"), deepMessage("deep3", '{"a":', "}", 999).replace(":}", ":1}")),
      1,
      { 1: "nested_too_deep" },
    ],
    [
      "20,000 levels of arrays",
      batchOf(good("a"), deepMessage("deep4", "[", "]", 15_000), good("b")),
      2,
      { 1: "nested_too_deep" },
    ],
    [
      "20,000 levels beside a long number",
      batchOf(deepMessage("deep5", "[", "]", 15_000), `{"type":"page","userId":12345678901234567890}`),
      1,
      { 0: "nested_too_deep" },
    ],
    [
      "100,000 levels",
      batchOf(deepMessage("deep6", "[", "]", 100_000), good("c")),
      1,
      { 0: "nested_too_deep" },
    ],
    [
      "an item that is nothing but brackets",
      batchOf(nested("[", "]", 20_000), good("d")),
      1,
      { 0: "nested_too_deep" },
    ],
    [
      "many deep items",
      batchOf(...Array.from({ length: 20 }, () => nested("[", "]", 5_000)), good("e")),
      1,
      Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i, "nested_too_deep"])),
    ],
    [
      "brackets in a string are not nesting",
      batchOf(`{"type":"page","userId":"u1","properties":{"a":"${"[".repeat(20_000)}"}}`),
      1,
    ],
  ]),
  ...malformed([
    ["20,000 levels around the batch", `{"context":${nested("[", "]", 20_000)},"batch":[${good("x")}]}`],
    ["20,000 levels and nothing else", nested("[", "]", 20_000)],
    ["250,000 levels", nested("[", "]", 250_000)],
    ["20,000 levels of objects", `${'{"batch":'.repeat(20_000)}[]${"}".repeat(20_000)}`],
    ["deep and never closed", `{"batch":[${"[".repeat(20_000)}`],
  ]),
  {
    name: "20,000 levels in one message",
    path: "/v1/page",
    body: `{"userId":"u1","x":${nested("[", "]", 15_000)}}`,
    status: 400,
    code: "malformed_json",
  },
  {
    name: "20,000 levels in a field `batch` of one message",
    path: "/v1/page",
    body: `{"userId":"u1","batch":[${nested("[", "]", 15_000)}]}`,
    status: 400,
    code: "malformed_json",
  },
];

const MB = 1_024 * 1_024;
const tooLarge = (name: string, body: string | Uint8Array, more: Partial<BodyCase> = {}): BodyCase => ({
  name,
  body,
  status: 413,
  code: "payload_too_large",
  ...more,
});
const packed = (
  name: string,
  encoding: string,
  body: Uint8Array,
  status: number,
  code?: string,
  stored = 0,
): BodyCase => ({
  name,
  body,
  headers: { "content-encoding": encoding },
  status,
  ...(code === undefined ? {} : { code }),
  stored,
});
const zeros = Buffer.alloc(100 * MB);
const goodBatch = batchOf(good("packed"));

const SIZES: BodyCase[] = [
  tooLarge("20 million items", Buffer.from(`{"batch":[${"0,".repeat(20_000_000)}0]}`)),
  tooLarge("2,501 items", batchOf(...Array.from({ length: 2_501 }, () => "{}"))),
  tooLarge("160,000 empty objects", `{"batch":[${"{},".repeat(160_000)}{}]}`),
  tooLarge("512,001 bytes", `{"batch":[],"x":"${"y".repeat(512_001 - 18)}"}`),
  tooLarge("a megabyte of blanks", " ".repeat(MB)),
  tooLarge(
    "40 KB besides ordinary messages",
    `{"batch":[${good("beside")}],"other":"${"y".repeat(40_000)}"}`,
  ),
  tooLarge(
    "a large context times many messages",
    `{"context":{"x":"${"y".repeat(300_000)}"},"batch":[${Array.from({ length: 100 }, () => good("")).join()}]}`,
  ),
  tooLarge("32,769 bytes of one message", `{"userId":"u1","x":"${"y".repeat(32_769 - 21)}"}`, {
    path: "/v1/page",
  }),
  tooLarge("one message and a megabyte of blanks", `{"userId":"u1"}${" ".repeat(MB)}`, { path: "/v1/page" }),
  {
    name: "one large message among small ones",
    body: batchOf(
      good("s1"),
      `{"type":"page","userId":"u1","messageId":"big","x":"${"y".repeat(40_000)}"}`,
      good("s2"),
    ),
    status: 200,
    stored: 2,
    rejected: { 1: "message_too_large" },
  },
  packed("100 MB of zeros in gzip", "gzip", gzipSync(zeros), 413, "payload_too_large"),
  packed("100 MB of zeros in deflate", "deflate", deflateSync(zeros), 413, "payload_too_large"),
  packed("100 MB of zeros in br", "br", brotliCompressSync(zeros), 413, "payload_too_large"),
  packed(
    "20 million items in gzip",
    "gzip",
    gzipSync(`{"batch":[${"0,".repeat(20_000_000)}0]}`),
    413,
    "payload_too_large",
  ),
  packed("512,001 bytes in gzip", "gzip", gzipSync(" ".repeat(512_001)), 413, "payload_too_large"),
  packed("512,000 bytes in gzip", "gzip", gzipSync(`{"batch":[]${" ".repeat(512_000 - 12)}}`), 200),
  {
    ...packed("a bomb for one message", "gzip", gzipSync(zeros), 413, "payload_too_large"),
    path: "/v1/page",
  },
  { ...packed("a bomb that nobody mentions", "identity", gzipSync(zeros), 413, "payload_too_large") },
  packed("a bomb in a bomb", "gzip", gzipSync(gzipSync(zeros)), 400, "malformed_json"),
  packed("gzip cut off", "gzip", gzipSync(goodBatch).subarray(0, -9), 400, "malformed_json"),
  packed(
    "gzip with a wrong checksum",
    "gzip",
    join(gzipSync(goodBatch).subarray(0, -8), bytes(1, 2, 3, 4, 5, 6, 7, 8)),
    400,
    "malformed_json",
  ),
  packed("gzip's header alone", "gzip", gzipSync("").subarray(0, 10), 400, "malformed_json"),
  packed("gzip that is none", "gzip", Buffer.from(goodBatch), 400, "malformed_json"),
  packed("gzip of nothing", "gzip", gzipSync(""), 400, "malformed_json"),
  packed("nothing as gzip", "gzip", Buffer.alloc(0), 400, "malformed_json"),
  packed("br that is none", "br", Buffer.from(goodBatch), 400, "malformed_json"),
  packed("br cut off", "br", brotliCompressSync(goodBatch).subarray(0, -3), 400, "malformed_json"),
  packed("deflate that is none", "deflate", Buffer.from(goodBatch), 400, "malformed_json"),
  packed("gzip called deflate", "deflate", gzipSync(goodBatch), 400, "malformed_json"),
  packed("gzip with something behind", "gzip", join(gzipSync(goodBatch), "garbage"), 400, "malformed_json"),
  packed("two encodings", "gzip, gzip", gzipSync(gzipSync(goodBatch)), 415, "unsupported_encoding"),
  packed("compress", "compress", Buffer.from("x"), 415, "unsupported_encoding"),
  packed("zstd", "zstd", Buffer.from("x"), 415, "unsupported_encoding"),
  packed("an encoding of 1,000 characters", "x".repeat(1_000), Buffer.from("x"), 415, "unsupported_encoding"),
];

// ── Every field with every kind of value ────────────────────────────────────────────────────────────────

const VALUES = {
  null: "null",
  true: "true",
  zero: "0",
  negative: "-1.5",
  long: "12345678901234567890",
  "empty text": '""',
  text: '"x"',
  "long text": `"${"x".repeat(200)}"`,
  NUL: '"\\u0000x"',
  "empty list": "[]",
  list: "[1]",
  "empty object": "{}",
  object: '{"a":{"b":[null]}}',
} as const;
type ValueName = keyof typeof VALUES;

const ALL = Object.keys(VALUES) as ValueName[];
const NUMBERS: ValueName[] = ["zero", "negative", "long"];
const TEXTS: ValueName[] = ["empty text", "text", "long text", "NUL"];
const OBJECTS: ValueName[] = ["null", "empty list", "empty object", "object"];

/** A good message without the field, the values that are good for it, and the code for the others. */
const FIELDS: readonly (readonly [
  field: string,
  rest: string,
  good: readonly ValueName[],
  code: string,
  except?: Partial<Record<ValueName, string>>,
])[] = [
  ["type", '"userId":"u1"', [], "type_unknown"],
  [
    "messageId",
    '"type":"page","userId":"u1"',
    ["null", ...NUMBERS, "empty text", "text", "NUL"],
    "message_id_not_string",
    { "long text": "message_id_too_long" },
  ],
  ["userId", '"type":"page","anonymousId":"a1"', ["null", ...NUMBERS, ...TEXTS], "user_id_not_string"],
  ["anonymousId", '"type":"page","userId":"u1"', ["null", ...NUMBERS, ...TEXTS], "anonymous_id_not_string"],
  [
    "event",
    '"type":"track","userId":"u1"',
    ["text", "long text", "NUL"],
    "event_not_string",
    { null: "event_not_defined", "empty text": "event_not_defined" },
  ],
  ["properties", '"type":"track","event":"E","userId":"u1"', OBJECTS, "properties_not_object"],
  ["traits", '"type":"identify","userId":"u1"', OBJECTS, "traits_not_object"],
  ["context", '"type":"page","userId":"u1"', OBJECTS, "context_not_object"],
  ["integrations", '"type":"page","userId":"u1"', OBJECTS, "integrations_not_object"],
  ["name", '"type":"screen","userId":"u1"', ["null", ...TEXTS], "name_not_string"],
  ["category", '"type":"page","name":"n","userId":"u1"', ["null", ...TEXTS], "category_not_string"],
  [
    "groupId",
    '"type":"group","userId":"u1"',
    [...NUMBERS, "text", "long text", "NUL"],
    "group_id_not_string",
    { null: "group_id_required", "empty text": "group_id_required" },
  ],
  [
    "previousId",
    '"type":"alias","userId":"u1"',
    [...NUMBERS, "text", "long text", "NUL"],
    "previous_id_not_string",
    { null: "previous_id_required", "empty text": "previous_id_required" },
  ],
  ["timestamp", '"type":"page","userId":"u1"', ALL, ""],
  ["originalTimestamp", '"type":"page","userId":"u1"', ALL, ""],
  ["sentAt", '"type":"page","userId":"u1"', ALL, ""],
  ["anything", '"type":"page","userId":"u1"', ALL, ""],
];

const FIELD_MATRIX: BodyCase[] = FIELDS.flatMap(([field, rest, goodValues, code, except = {}]) =>
  ALL.map((value): BodyCase => {
    const isGood = goodValues.includes(value);
    return {
      name: `${field} is ${value}`,
      body: batchOf(`{${rest},"${field}":${VALUES[value]}}`),
      status: 200,
      stored: isGood ? 1 : 0,
      ...(isGood ? {} : { rejected: { 0: except[value] ?? code } }),
    };
  }),
);

export const BODY_CASES: readonly BodyCase[] = [
  ...NOT_JSON,
  ...NOT_UTF8,
  ...NO_BATCH,
  ...ODD_BATCHES,
  ...HOSTILE_IDS,
  ...NESTING,
  ...SIZES,
  ...FIELD_MATRIX,
];
