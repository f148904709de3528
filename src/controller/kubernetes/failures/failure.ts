import type * as z from 'zod';
import { StaleRead } from '../../../domain/mutation/stale-read.ts';
import { Busy, ConfigurationFault } from '../../../domain/refusal.ts';
import { isFull, StoreUnavailable } from '../../../store/port.ts';
import { isKubeError, type KubeError, type KubeErrorReason } from '../client/kube-api.ts';
import { SecretError, type SecretVerb } from '../client/secret-error.ts';
import { plainWords } from './plain-words.ts';

/** The reasons of `Ready=False` for a reconciliation that failed; docs/KUBERNETES.md has them all. */
export const FAILURE_REASONS = [
  'SecretWriteFailed',
  'SecretDeleteFailed',
  'SecretReadFailed',
  'StoreUnavailable',
  'Busy',
  'QuotaReached',
  'InvalidSpec',
  'ApiServerRefused',
  'ApiServerUnavailable',
  'WriteConflict',
  'OperatorMisconfigured',
  'InternalError',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** Why a reconciliation failed, in words for whoever may read the resource. */
export interface Failure {
  readonly reason: FailureReason;
  /** Whole sentences, of at most a few hundred characters; the same for the same failure, and never with a secret. */
  readonly message: string;
  /**
   * Whether another attempt fails as well until somebody acts: it is told of at once. Any other failure often passes by
   * itself, and is told of when it lasts.
   */
  readonly stays: boolean;
}

/** The spec of a resource that this version cannot parse, as when the CRD is that of another version. */
export class InvalidSpec extends Error {
  override readonly name = 'InvalidSpec';

  constructor({ issues }: z.ZodError) {
    // The rules and the names of fields; no values.
    super(
      issues
        .slice(0, ISSUES_MAX)
        .map(({ path, message }) => `spec.${path.join('.')}: ${message}`)
        .join('; '),
    );
  }
}
const ISSUES_MAX = 3;

/** The longest pause of the work queue between two attempts, in milliseconds. */
export const RETRY_MS_MAX = 300_000;
const RETRIED = 'Muster tries again within 5 minutes, and at once when the resource changes.';

const SECRET_FAILURES: Readonly<Record<SecretVerb, readonly [reason: FailureReason, done: string]>> = {
  write: ['SecretWriteFailed', 'written'],
  delete: ['SecretDeleteFailed', 'deleted'],
  read: ['SecretReadFailed', 'read'],
};

/**
 * Names the failure of a reconciliation. The words of the API server come along, shortened; those of the store and of
 * errors that nobody foresaw are for the log alone.
 */
export function failureOf(error: unknown): Failure {
  const { reason, words, stays } = told(error);
  return { reason, message: `${words}. ${RETRIED}`, stays };
}

interface Told {
  readonly reason: FailureReason;
  readonly words: string;
  readonly stays: boolean;
}

function told(error: unknown): Told {
  if (isKubeError(error)) return toldOfApiServer(error);
  if (error instanceof InvalidSpec) {
    const words = `This version of Muster cannot read the spec: ${plainWords(error.message)}`;
    return { reason: 'InvalidSpec', words, stays: true };
  }
  if (error instanceof StoreUnavailable) {
    const words = isFull(error) ? 'The store of Muster is full' : 'The store of Muster does not answer';
    return { reason: 'StoreUnavailable', words, stays: false };
  }
  if (error instanceof Busy && error.reason === 'quota') {
    return { reason: 'QuotaReached', words: 'The account has used up its quota of records and audit', stays: true };
  }
  if (error instanceof Busy || error instanceof StaleRead) {
    return { reason: 'Busy', words: 'Muster has too much to do at once', stays: false };
  }
  if (error instanceof ConfigurationFault) {
    return { reason: 'OperatorMisconfigured', words: 'Muster is configured wrongly; its log says how', stays: true };
  }
  return { reason: 'InternalError', words: 'Muster met an error of its own; its log has the details', stays: true };
}

/** Another write came between: the object is read again. */
const CHANGED: ReadonlySet<KubeErrorReason> = new Set(['conflict', 'exists', 'gone', 'expired']);

function toldOfApiServer(error: KubeError): Told {
  const stays = error.reason === 'refused';
  const says = plainWords(error.message);
  if (CHANGED.has(error.reason)) {
    return { reason: 'WriteConflict', words: 'Somebody else changes the same objects again and again', stays };
  }
  if (error instanceof SecretError) {
    const [reason, done] = SECRET_FAILURES[error.verb];
    return { reason, words: `The Secret ${error.secretName} cannot be ${done}: ${says}`, stays };
  }
  return stays
    ? { reason: 'ApiServerRefused', words: `The API server refuses a request of Muster: ${says}`, stays }
    : { reason: 'ApiServerUnavailable', words: `The API server does not carry out requests: ${says}`, stays };
}
