/** The user name of a Basic header, with or without the colon; undefined when there is none. */
export function basicUser(header: string | undefined): string | undefined {
  if (header === undefined || !/^basic /i.test(header)) return undefined;
  const text = Buffer.from(header.slice(6).trim(), "base64").toString("utf8");
  const colon = text.indexOf(":");
  const user = colon === -1 ? text : text.slice(0, colon);
  return user === "" ? undefined : user;
}
