import crypto from 'node:crypto';

/** KiB and passes, in the place of 19,456 and two. */
const CHEAP = { memory: 64, passes: 1 };

const { argon2 } = crypto;
/** The requests that last; each is waited for. */
const asked = new Set<Promise<unknown>>();

/**
 * Lets Argon2 cost next to nothing in this process up to the end of the block: a test of what follows from passwords
 * must not depend on how fast the machine hashes them. Only what is stored meanwhile can be compared meanwhile. Every
 * service of a test asks for it; test/domain/passwords has the hash as it is.
 * @param released no password is hashed before it resolves
 */
export function cheapPasswords(released: Promise<unknown> = Promise.resolve()): Disposable {
  const one = released.then(() => undefined);
  asked.add(one);
  crypto.argon2 = (algorithm, parameters, callback) => {
    void Promise.all(asked).then(() => argon2(algorithm, { ...parameters, ...CHEAP }, callback));
  };
  return {
    [Symbol.dispose]() {
      asked.delete(one);
      if (asked.size === 0) crypto.argon2 = argon2;
    },
  };
}
