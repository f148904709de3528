import type { RandomSource } from '../credentials/random-ids.ts';
import { generateAppId } from '../credentials/random-ids.ts';
import { generateEnrollCode, tokenHash } from '../credentials/tokens.ts';
import { codeExpiry, type NewCode } from './app-state.ts';
import type { ChangedApp } from './batch-answers.ts';

/** The changes that many apps may be asked for at once. */
export const APP_CHANGES = ['create', 'issue-code', 'revoke', 'delete'] as const;
export type AppChange = (typeof APP_CHANGES)[number];

/** A change of many apps. */
export interface AppBatch {
  readonly change: AppChange;
  /** The names of new apps, or the ids of those that are changed. */
  readonly apps: readonly string[];
}

/** What became of one app: it is as the batch wants it, or the code of its refusal. */
export type AppOutcome = (ChangedApp & { readonly replayed: boolean }) | { readonly error: AppError };
type AppError = 'limit_reached' | 'not_found' | 'upstream_unavailable';

/** One app of a batch, with what was generated for it. */
export interface BatchItem {
  /** Tells the items of a batch apart, and finds this one in the kept answer: an id, or the place of a new app. */
  readonly key: string;
  /** Of a new app. */
  readonly name: string;
  /** The answer where the change is made. */
  readonly changed: ChangedApp;
  readonly code: NewCode | undefined;
}

/** The key of each app of a batch, in their order: an id that is named twice is one item. */
export const keysOf = ({ change, apps }: AppBatch): readonly string[] =>
  apps.map((app, index) => (change === 'create' ? String(index) : app));

/**
 * The items of a batch. What they need is generated here, once for every attempt of the request.
 * @param at the instant of the request, in milliseconds since 1970
 */
export function itemsOf(random: RandomSource, batch: AppBatch, at: number): readonly BatchItem[] {
  const { change, apps } = batch;
  const isNew = change === 'create';
  const keys = keysOf(batch);
  const texts = new Map(keys.map((key, index) => [key, apps[index] ?? '']));
  return Array.from(texts, ([key, text]) => {
    const appId = isNew ? generateAppId(random) : text;
    if (!isNew && change !== 'issue-code') return { key, name: '', changed: { appId }, code: undefined };
    const code = generateEnrollCode(random);
    return {
      key,
      name: isNew ? text : '',
      changed: { appId, code: { text: code, expiresAt: codeExpiry(at) } },
      code: { hash: tokenHash(code.reveal()), issuedAt: at },
    };
  });
}
