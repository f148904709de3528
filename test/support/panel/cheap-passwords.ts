import crypto from 'node:crypto';

/** KiB and passes, in the place of 19,456 and two. */
const CHEAP = { memory: 64, passes: 1 };

/**
 * Lets Argon2 cost next to nothing in this process up to the end of the block: a test of what follows from passwords must
 * not depend on how fast the machine hashes them. Only what is stored meanwhile can be compared meanwhile.
 * @param released no password is hashed before it resolves
 */
export function cheapPasswords(released: Promise<unknown> = Promise.resolve()): Disposable {
  const { argon2 } = crypto;
  crypto.argon2 = (algorithm, parameters, callback) => {
    void released.then(() => argon2(algorithm, { ...parameters, ...CHEAP }, callback));
  };
  return {
    [Symbol.dispose]() {
      crypto.argon2 = argon2;
    },
  };
}
