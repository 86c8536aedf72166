/** A place of a request at which a document may stand. */
export interface Place {
  readonly before: string;
  readonly after: string;
}

const HEAD = '"type":"track","event":"E","messageId":"m-1","userId":"u-1"';

export const PLACES: readonly Place[] = [
  { before: `{"batch":[{${HEAD},"properties":{"x":`, after: "}}]}" },
  { before: `{"batch":[{${HEAD},"other":`, after: "}]}" },
  { before: `{"batch":[{${HEAD},"properties":`, after: "}]}" },
  { before: `{"batch":[{${HEAD},"context":`, after: "}]}" },
  { before: `{"batch":[{"type":"track","event":"E","messageId":"m-1","userId":`, after: "}]}" },
  { before: `{"batch":[{"type":"track","event":"E","userId":"u-1","messageId":`, after: "}]}" },
  { before: `{"batch":[{"messageId":"m-1","userId":"u-1","event":"E","type":`, after: "}]}" },
  { before: '{"batch":[', after: "]}" },
  { before: '{"batch":', after: "}" },
  { before: `{"batch":[{${HEAD}}],"context":`, after: "}" },
  { before: `{"batch":[{${HEAD}}],"deliver":`, after: "}" },
  { before: `{"batch":[{${HEAD}}],"writeKey":`, after: "}" },
  { before: `{"batch":[{${HEAD}}],"other":`, after: "}" },
];

/** Places at which an ordinary object is ordinary. */
export function isRegularPlace({ before }: Place): boolean {
  return /"(?:x|other|properties|context)":$/.test(before);
}
