/*
 * The variables of the command line's client, each of which begins with MUSTER_CLIENT_. The service reads none of them,
 * and the client reads none of the service's (environment.ts): so a shell that is set for one installation may start,
 * or configure, another one.
 */

export const CLIENT = {
  url: 'MUSTER_CLIENT_URL',
  opsUrl: 'MUSTER_CLIENT_OPS_URL',
  deviceUrl: 'MUSTER_CLIENT_DEVICE_URL',
  caFile: 'MUSTER_CLIENT_CA_FILE',
  context: 'MUSTER_CLIENT_CONTEXT',
  apiKey: 'MUSTER_CLIENT_API_KEY',
  apiKeyFile: 'MUSTER_CLIENT_API_KEY_FILE',
  operatorToken: 'MUSTER_CLIENT_OPERATOR_TOKEN',
  operatorTokenFile: 'MUSTER_CLIENT_OPERATOR_TOKEN_FILE',
} as const;

export type ClientVariable = (typeof CLIENT)[keyof typeof CLIENT];
export const CLIENT_VARIABLES: readonly ClientVariable[] = Object.values(CLIENT);

/** The name by which the client knew a variable before it had names of its own. */
const formerOf = (name: ClientVariable): string => name.replace('MUSTER_CLIENT_', 'MUSTER_');

/** The variable that has taken the place of one that only the client knew; undefined for any other name. */
export const successorOf = (name: string): ClientVariable | undefined =>
  CLIENT_VARIABLES.find((variable) => formerOf(variable) === name);

/** Tells of a name that only the client knew, and means nothing now; empty for any other one. */
export function movedTo(name: string): string {
  const successor = successorOf(name);
  return successor === undefined ? '' : ` (a command that asks a service reads ${successor})`;
}

/**
 * Tells of each of the variables that is not set while one of its former name is, which has no effect on a client.
 * @returns the end of a sentence; empty where there is none
 */
export function notRead(
  env: Readonly<Record<string, string | undefined>>,
  variables: readonly ClientVariable[],
): string {
  const told = variables
    .filter((name) => !env[name] && env[formerOf(name)])
    .map((name) => `; ${formerOf(name)} is not read here: set ${name}`);
  return told.join('');
}
