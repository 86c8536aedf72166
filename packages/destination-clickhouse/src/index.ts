import {
  type DefinedDestination,
  type DeliveryResult,
  defineDestination,
  type OpenDestination,
} from "@sluice/destination";
import {
  type HttpClient,
  type HttpResponse,
  httpClient,
  resultWithoutResponse,
} from "@sluice/destination/http";
import { type ClickHouseSettings, SETTINGS } from "./settings.js";
import { creation, erasure, insertion } from "./table.js";

/** Writes each message as a row of a table. */
const clickhouse: DefinedDestination = defineDestination<ClickHouseSettings>({
  type: "clickhouse",
  name: "ClickHouse",
  description: "Writes each message as a row of a ClickHouse table",
  icon: "M3 2.5v11M6 2.5v11M9 2.5v11M12 2.5v3M12 8v.01M12 10.5v3",
  settings: SETTINGS,
  takesDeletions: "erase",
  timeoutMs: 60_000,
  target: ({ url, database, table }) => `clickhouse:${new URL(url).host}/${database}.${table}`,
  batch: ({ maxAgeSeconds }) => ({ maxAgeMs: maxAgeSeconds * 1_000 }),
  open: (settings, { connect }) => opened(settings, httpClient(connect)),
});

export default clickhouse;

function opened(settings: ClickHouseSettings, http: HttpClient): OpenDestination {
  let hasTable = false;

  const send = ({ url, user, password }: ClickHouseSettings, body: string, signal: AbortSignal) =>
    http.send({
      method: "POST",
      // The whole insert is read before it begins, and the answer says how it ended.
      url: `${url.replace(/\/$/, "")}/?wait_end_of_query=1`,
      headers: {
        "content-type": "text/plain; charset=utf-8",
        "x-clickhouse-user": user,
        ...(password === undefined ? {} : { "x-clickhouse-key": password }),
      },
      body,
      signal,
    });

  const run = async (
    statements: readonly string[],
    signal: AbortSignal,
    reason: string,
  ): Promise<DeliveryResult> => {
    try {
      for (const statement of hasTable ? statements : [creation(settings), ...statements]) {
        const response = await send(settings, statement, signal);
        if (response.status === 200) continue;
        hasTable = false;
        return refusal(response, settings);
      }
      hasTable = true;
      return { kind: "delivered", reason, detail: `in ${settings.database}.${settings.table}` };
    } catch (error) {
      return resultWithoutResponse(error, settings.url);
    }
  };

  return {
    deliverBatch: ({ messages }, { signal }) => run([insertion(settings, messages)], signal, "written"),
    erase: ({ userId, anonymousId }, { signal }) =>
      run(
        userId === undefined
          ? erasure(settings, "anonymous_id", anonymousId ?? "")
          : erasure(settings, "user_id", userId),
        signal,
        "erased",
      ),
    async close() {
      http.close();
    },
  };
}

/** Everything may work later, once somebody has repaired it. */
function refusal({ status, body }: HttpResponse, settings: ClickHouseSettings): DeliveryResult {
  const code = /^Code: (\d+)/.exec(body)?.[1] ?? "";
  const name = /\(([A-Z_]{3,60})\)/.exec(body)?.[1] ?? `HTTP ${status}`;
  const said = body.slice(0, 500).trim();
  return { kind: "retry", reason: name, detail: `${advice(code, settings)}: ${said}` };
}

function advice(code: string, { database, table, user }: ClickHouseSettings): string {
  switch (code) {
    case "81":
      return `There is no database ${database}. Create it`;
    case "16":
    case "47":
      return `The table ${database}.${table} is not as it was created. Restore its columns, or set another table`;
    case "497":
      return `The user ${user} may not do this. Grant it insert, select, alter delete and create table`;
    case "516":
    case "194":
      return `The server refused the user ${user}. Check user name and password`;
    default:
      return "The server refused it";
  }
}
