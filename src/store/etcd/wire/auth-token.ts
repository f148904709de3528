import type { Metadata } from '@grpc/grpc-js';
import { AuthClient } from 'etcd3';
import { deadlineIn, type Deadline, type TimedOptions } from './deadline.ts';
import { refusesPassword } from './errors.ts';

/** A user of etcd. */
export interface UserAndPassword {
  readonly username: string;
  readonly password: string;
}

/** The connection over which a token is requested. It is used for one token, and the session closes it. */
type AuthChannel = ConstructorParameters<typeof AuthClient>[0] & {
  blankMetadata(): Promise<Metadata>;
  close(): void;
};

/**
 * The deadline of a request for a token whose caller has none: a request that hung would keep all later calls waiting.
 */
const AUTHENTICATE_MS = 2000;

/**
 * The token of a user at one endpoint, requested once however many calls need it. Each endpoint has its own: a follower
 * that lags does not know a token yet that another member handed out. (The package's own authenticator knows no
 * deadline, and leaves a connection open for each token.)
 */
export class Session {
  readonly #open: () => AuthChannel;
  #user: UserAndPassword;
  /** The user with a password that etcd may not take yet. */
  #next: UserAndPassword | undefined;
  #asking: Promise<Metadata> | undefined;
  #current: Metadata | undefined;

  /** @param open opens a channel to the endpoint's `Auth` service */
  constructor(open: () => AuthChannel, user: UserAndPassword) {
    this.#open = open;
    this.#user = user;
  }

  /** The metadata that a call has to carry. Rejects with the error of gRPC when etcd does not take the password. */
  async metadata(options: Partial<TimedOptions>): Promise<Metadata> {
    if (this.#current) return this.#current;
    this.#asking ??= this.#authenticate(options).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /**
   * Authenticates as another user, or by another password, from the next token on. The present one stays: etcd refuses
   * it once the password is another one there, whether that is before or after it is known here.
   */
  renew(user: UserAndPassword): void {
    this.#user = user;
    if (this.#next?.password === user.password) this.#next = undefined;
  }

  /**
   * Rejects with the error of gRPC when etcd does not take the password. It is tried in its turn from then on, where
   * etcd refuses the present one.
   */
  async prove(user: UserAndPassword, until: Deadline): Promise<void> {
    if (user.password !== this.#user.password) this.#next = user;
    const connection = this.#open();
    try {
      await tokenOf(connection, user, { until });
    } finally {
      connection.close();
    }
  }

  /** Drops a token that etcd did not take. A newer one is kept. */
  forget(refused: Metadata | undefined = this.#current): void {
    if (this.#current === refused) this.#current = undefined;
  }

  async #authenticate(options: Partial<TimedOptions>): Promise<Metadata> {
    // A token is requested once in five minutes, which does not justify a standing connection.
    const connection = this.#open();
    try {
      const timed: TimedOptions = { until: options.until ?? deadlineIn(AUTHENTICATE_MS) };
      const next = this.#next;
      const token = await tokenOf(connection, this.#user, timed).catch(async (error: unknown) =>
        next && refusesPassword(error) ? tokenOf(connection, next, timed) : Promise.reject(error),
      );
      const metadata = await connection.blankMetadata();
      metadata.set('token', token);
      this.#current = metadata;
      return metadata;
    } finally {
      connection.close();
    }
  }
}

async function tokenOf(
  connection: AuthChannel,
  { username: name, password }: UserAndPassword,
  timed: TimedOptions,
): Promise<string> {
  return (await new AuthClient(connection).authenticate({ name, password }, timed)).token;
}
