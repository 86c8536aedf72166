import { nkeys } from "@nats-io/transport-node";

type KeyPair = ReturnType<typeof nkeys.createUser>;

/** Keys and tokens as the tools of NATS make them, for servers that know users by an operator's signature. */
export interface OperatorFiles {
  /** Lines for the server's configuration. */
  readonly configuration: string;
  /** The contents of a credentials file of a user whom the server knows. */
  readonly creds: string;
}

const base64Url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function token(issuer: KeyPair, subject: KeyPair, name: string, nats: object): string {
  const claims = {
    jti: name,
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name,
  };
  const text = `${base64Url({ typ: "JWT", alg: "ed25519-nkey" })}.${base64Url({ ...claims, nats })}`;
  const signature = Buffer.from(issuer.sign(new TextEncoder().encode(text))).toString("base64url");
  return `${text}.${signature}`;
}

const UNLIMITED = { subs: -1, data: -1, payload: -1 };

export function operatorFiles(): OperatorFiles {
  const [operator, user] = [nkeys.createOperator(), nkeys.createUser()];
  const [account, system] = [nkeys.createAccount(), nkeys.createAccount()];
  const operatorToken = token(operator, operator, "operator", { type: "operator", version: 2 });
  const limits = { ...UNLIMITED, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const jetStream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accountClaims = { type: "account", version: 2 };
  const accountToken = token(operator, account, "account", {
    ...accountClaims,
    limits: { ...limits, ...jetStream },
  });
  const systemToken = token(operator, system, "system", { ...accountClaims, limits });
  const userToken = token(account, user, "user", {
    type: "user",
    version: 2,
    ...UNLIMITED,
    pub: {},
    sub: {},
  });
  return {
    configuration: [
      `operator: ${operatorToken}`,
      "resolver: MEMORY",
      `system_account: ${system.getPublicKey()}`,
      `resolver_preload: { ${account.getPublicKey()}: ${accountToken}, ${system.getPublicKey()}: ${systemToken} }`,
    ].join("\n"),
    creds: `-----BEGIN NATS USER JWT-----\n${userToken}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${textOf(user.getSeed())}\n------END USER NKEY SEED------\n`,
  };
}
