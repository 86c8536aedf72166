/** Whether requests to a URL stay on this machine, in any notation of the address. Other names may resolve to anywhere. */
export function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  // The URL parser normalizes `127.1`, `0x7f.1` and `[0:0::1]` to the forms below.
  return /^https?:$/.test(protocol) && LOOPBACK.test(hostname);
}

const LOOPBACK = /^(localhost\.?|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/;
