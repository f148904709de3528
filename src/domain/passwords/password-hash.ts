import crypto from 'node:crypto';
import { Slots } from '../../concurrency/slots.ts';
import type { RandomSource } from '../credentials/random-ids.ts';
import type { Secret } from '../credentials/secret.ts';
import { LIMITS } from '../limits.ts';
import { judgePassword, type Judgement } from './password-judge.ts';
import { comparablePassword, type About } from './password-rules.ts';
import { Places, type Guest } from './places.ts';

/*
 * Passwords are kept as Argon2id (RFC 9106) with the least parameters that OWASP's cheat sheet recommends: 19 MiB, two
 * passes, one lane. The stored text is a PHC string, so that other parameters may follow.
 */

interface Parameters {
  /** KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}
const PARAMETERS: Parameters = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** A stored text with more would cost more than a sign-in may. */
const MEMORY_MAX = 262_144;
const PASSES_MAX = 10;

/** Judges, hashes and compares passwords, a few at a time. */
export interface Passwords {
  /** @returns undefined where too many wait already */
  enter(guest: Guest): PasswordPlace | undefined;
}

/** A place among those whose passwords are hashed, or wait for it, until it is disposed of. */
export interface PasswordPlace extends Disposable {
  /** Judges a password that somebody chooses. */
  judge(password: Secret, about: About): Promise<Judgement>;
  /** @returns the text to store */
  hash(password: Secret): Promise<string>;
  /** @param stored undefined where there is no user, or one without a password: it costs the same */
  matches(password: Secret, stored: string | undefined): Promise<boolean>;
}

/** Whether this Node has Argon2. */
export const argon2IsThere = (): boolean => typeof crypto.argon2 === 'function';

/** Creates the hashing of passwords; see `Passwords`. */
export function createPasswords({ random }: { readonly random: RandomSource }): Passwords {
  const slots = new Slots(LIMITS.passwordsHashedMax);
  const places = new Places();
  // Whoever has one waits for the store first, and then for a place: an attempt that waits computes nothing.
  const rooms = new Places(LIMITS.passwordRoomsPerPlace);
  const nobody = spelled(PARAMETERS, random.bytes(SALT_BYTES), random.bytes(HASH_BYTES));

  const hash = async (password: Secret): Promise<string> => {
    const salt = random.bytes(SALT_BYTES);
    return spelled(PARAMETERS, salt, await digest(password, salt, PARAMETERS, HASH_BYTES));
  };
  const matches = async (password: Secret, stored: string | undefined): Promise<boolean> => {
    const parsed = parse(stored ?? nobody) ?? parse(nobody);
    if (!parsed) return false;
    const { salt, hash: expected, ...parameters } = parsed;
    const found = await digest(password, salt, parameters, expected.length);
    return crypto.timingSafeEqual(found, expected) && stored !== undefined;
  };

  return {
    enter(guest) {
      const taken = rooms.take(guest);
      const placed = async <T>(work: () => Promise<T>): Promise<T> => {
        const place = await places.wait(guest);
        try {
          return await slots.run(work);
        } finally {
          place[Symbol.dispose]();
        }
      };
      return (
        taken && {
          judge: (password, about) => placed(() => judgePassword(password.reveal(), about)),
          hash: (password) => placed(() => hash(password)),
          matches: (password, stored) => placed(() => matches(password, stored)),
          [Symbol.dispose]: () => taken[Symbol.dispose](),
        }
      );
    },
  };
}

function digest(password: Secret, salt: Buffer, parameters: Parameters, tagLength: number): Promise<Buffer> {
  const message = Buffer.from(comparablePassword(password.reveal()));
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  crypto.argon2('argon2id', { message, nonce: salt, tagLength, ...parameters }, (error, hash) => {
    message.fill(0);
    if (error) reject(error);
    else resolve(hash);
  });
  return promise;
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

const spelled = ({ memory, passes, parallelism }: Parameters, salt: Buffer, hash: Buffer): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`;

const PHC = /^\$argon2id\$v=19\$m=(\d{1,6}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43,86})$/;

/** Undefined for a text that this program did not make, or that would cost more than it may. */
function parse(text: string): (Parameters & { readonly salt: Buffer; readonly hash: Buffer }) | undefined {
  const [, memory, passes, parallelism, salt, hash] = PHC.exec(text) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const isBounded = parameters.memory <= MEMORY_MAX && parameters.passes <= PASSES_MAX && parameters.parallelism > 0;
  return isBounded
    ? { ...parameters, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
    : undefined;
}
