import { parentPort, workerData } from 'node:worker_threads';
import { guessFault } from './password-strength.ts';
import type { Judged } from './password-judge.ts';

/* The thread that password-judge.ts starts: it judges one password and ends. */

const { password, about } = workerData as Judged;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
parentPort?.postMessage({ fault: guessFault(password, about) });
