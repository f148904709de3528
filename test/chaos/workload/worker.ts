import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAccount, createKey, type Owner } from '../cluster/calls.ts';
import { Client, type Asked, type Replicas, type Reply } from '../cluster/client.ts';
import { isOk, type Recorder } from '../judgement/history.ts';
import { whole, type Random } from '../random.ts';

export const REPLICAS = 3;

/** One of those who ask, one request after the other or some at once, until the signal aborts. */
export interface Worker {
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly recorder: Recorder;
  /** Through any replica, or the one given. */
  send(asked: Asked, replica?: number): Promise<Reply>;
  /** Resolves early, and never rejects, when the work ends. */
  pace(ms: number): Promise<void>;
}

export type Job = (worker: Worker) => Promise<void>;

/**
 * A client with connections and random numbers of its own. It ends when the signal has aborted and its last answer is
 * in.
 */
export async function work(
  name: string,
  job: Job,
  deps: { replicas: Replicas; recorder: Recorder; random: Random; signal: AbortSignal },
): Promise<void> {
  const { replicas, recorder, random, signal } = deps;
  const client = new Client(name, replicas, recorder);
  try {
    await job({
      random,
      signal,
      recorder,
      send: (asked, replica = whole(random, REPLICAS)) => client.send(replica, asked),
      pace: (ms) => sleep(ms, undefined, { signal }).catch(() => undefined),
    });
  } finally {
    client.close();
  }
}

const AGAIN_MS = 100;

/** A new account with one key; undefined when the work ended before it had one. */
export async function newOwner(worker: Worker): Promise<Owner | undefined> {
  const marker = `marker${randomBytes(6).toString('hex')}`;
  const created = await insist(worker, () => createAccount(marker));
  const account = created?.told.account;
  if (account === undefined) return undefined;
  worker.recorder.markerOf.set(account, marker);
  const keyed = await insist(worker, () => createKey(account));
  return keyed && { account, marker, key: String(keyed.body['keyId']), apiKey: String(keyed.body['apiKey']) };
}

/** Asks again until it succeeds or the work ends. */
export async function insist(worker: Worker, asked: () => Asked): Promise<Reply | undefined> {
  while (!worker.signal.aborted) {
    const reply = await worker.send(asked());
    if (isOk(reply)) return reply;
    await worker.pace(AGAIN_MS);
  }
  return undefined;
}
