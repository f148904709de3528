import { LIMITS } from '../limits.ts';

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/**
 * Checks the collector's credential (section 4.8, O7). The empty string passes: it deletes, which the caller does.
 *
 * Only printable ASCII without outer spaces reaches the collector as it was stored: HTTP strips outer spaces, gRPC
 * metadata refuses a tab, and CR or LF would begin another header on the device.
 *
 * @returns undefined when acceptable, else a sentence for the error message that never repeats the value
 */
export function authHeaderFault(value: string): string | undefined {
  if (value.length > LIMITS.authHeaderCharactersMax) {
    return `authHeader is longer than ${LIMITS.authHeaderCharactersMax} characters; shorten it.`;
  }
  if (!PRINTABLE_ASCII.test(value)) {
    return 'authHeader may hold printable ASCII only; remove line breaks, tabs and other characters.';
  }
  if (value.startsWith(' ') || value.endsWith(' ')) {
    return 'authHeader begins or ends with a space; remove it.';
  }
  return undefined;
}

/** The form in which collectors document a header of their own, such as "Api-Key: secret". */
const NAMED_HEADER = /^([A-Za-z][A-Za-z0-9-]{0,63}): +(.*)$/;

/**
 * Headers that frame or route a request. If they were set from a stored credential, they would break the daemon's
 * requests or smuggle others, so a credential that looks like one of them stays the value of Authorization.
 */
const NEVER_SPLIT = /^(?:host|content-.*|transfer-encoding|connection|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;

/**
 * Returns the headers that a daemon sends to the collector (O7): exactly one, the named one or else Authorization.
 *
 * @param value a credential in which {@link authHeaderFault} found no fault, and which is not empty
 */
export function collectorHeaders(value: string): Record<string, string> {
  // More spaces after the colon are no part of a header's value (RFC 9110, 5.5).
  const [, name, namedValue] = NAMED_HEADER.exec(value) ?? [];
  if (name === undefined || namedValue === undefined || NEVER_SPLIT.test(name)) return { Authorization: value };
  return { [name]: namedValue };
}

/** The part of a configuration by which its header is judged. */
export interface HeaderOf {
  readonly endpoint: string;
  readonly authHeaderSet: boolean;
}

/**
 * Whether the restoration of a revision must say which header it shall have: the stored header goes to no origin that
 * it was not stored for, and one that the revision had may be gone. The panel asks by the same rule.
 * @param now the configuration as it is
 */
export function needsHeader(now: HeaderOf, revision: HeaderOf): boolean {
  // Without an endpoint, nothing is sent anywhere.
  if (revision.endpoint === '') return false;
  if (now.authHeaderSet) return originOf(now.endpoint) !== originOf(revision.endpoint);
  return revision.authHeaderSet;
}

/** The scheme, host and port of an endpoint; `''` without one. */
const originOf = (endpoint: string): string => (URL.canParse(endpoint) ? new URL(endpoint).origin : '');
