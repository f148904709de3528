import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { lengthFault, type About } from './password-rules.ts';

/** The question that the thread is given. */
export interface Judged {
  readonly password: string;
  readonly about: About;
}

export interface Judgement {
  /** A sentence that never repeats the password; undefined where it is acceptable. */
  readonly fault: string | undefined;
}

/** The lists and one password take 35 MiB of it. */
const HEAP_MIB_MAX = 96;
const THREAD = new URL(`./strength-thread${extname(import.meta.filename)}`, import.meta.url);

/**
 * Judges a password that somebody chooses. A password can be made for which zxcvbn computes 0.1 s, and its lists take
 * as long to load: a thread of its own does both and ends, so that requests do not wait and nothing stays in memory.
 * @throws Error when the thread ends without a word
 */
export async function judgePassword(password: string, { login, name }: About): Promise<Judgement> {
  const fault = lengthFault(password);
  if (fault !== undefined) return { fault };
  const workerData: Judged = { password, about: { login, name } };
  const { promise, resolve, reject } = Promise.withResolvers<Judgement>();
  const thread = new Worker(THREAD, {
    workerData,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
  });
  thread.once('message', resolve);
  // Its own words could hold the password.
  const fail = (): void => reject(new Error('The thread that judges passwords has failed.'));
  thread.once('error', fail);
  thread.once('exit', fail);
  return promise;
}
