/**
 * The fields of requests and answers whose values must not be arguments: others could read them in the list of
 * processes.
 */
export const SECRET_FIELDS: ReadonlySet<string> = new Set(['authHeader', 'credential', 'enrollCode']);
