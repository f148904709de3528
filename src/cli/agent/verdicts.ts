import type { MusterError } from '#client';

/*
 * These functions say what an error of the client means to a daemon. Between it and the service anybody may answer,
 * with any status: a proxy that wants a password, a portal, a wrong machine. Only the words of the service itself end
 * anything, so each verdict rests on the status and on the code of the service's own error body; all else is trouble on
 * the way, and passes.
 */

/** Status and code of the answers by which the service refuses a code, a credential or an account. */
const REFUSALS: ReadonlySet<string> = new Set(['401 invalid_code', '401 invalid_credential', '401 account_disabled']);
/**
 * Those of a request that is the same, and as wrong, the next time. A 404 is none: the service gives it for a path
 * alone, and a proxy may lead to another listener for a moment.
 */
const FINAL: ReadonlySet<string> = new Set(['400 invalid_request', '413 payload_too_large']);
/** The service has no such path: the address is wrong. */
const NO_SUCH_PATH = '404 not_found';

const named = ({ status, code }: MusterError): string => `${status} ${code}`;

/** Whether the service refuses the daemon. */
export const isRefusal = (error: MusterError): boolean => REFUSALS.has(named(error));

/** Whether the service will never take this request. */
export const isFinal = (error: MusterError): boolean => FINAL.has(named(error));

/** Whether a first request shows that the daemon is set up wrongly. */
export const isWrongFromTheStart = (error: MusterError): boolean => isFinal(error) || named(error) === NO_SUCH_PATH;

/** Says what a daemon has met: a stranger's message alone would not say whose it is. */
export const metWords = (error: MusterError): string =>
  `${error.message} (${error.status === 0 ? error.code : named(error)})`;
