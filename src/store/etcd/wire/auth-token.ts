import type { Metadata } from '@grpc/grpc-js';
import { AuthClient } from 'etcd3';
import { deadlineIn, type TimedOptions } from './deadline.ts';

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
  private readonly open: () => AuthChannel;
  private user: UserAndPassword;
  private asking: Promise<Metadata> | undefined;
  private current: Metadata | undefined;

  /** @param open opens a channel to the endpoint's `Auth` service */
  constructor(open: () => AuthChannel, user: UserAndPassword) {
    this.open = open;
    this.user = user;
  }

  /** The metadata that a call has to carry. Rejects with the error of gRPC when etcd does not take the password. */
  async metadata(options: Partial<TimedOptions>): Promise<Metadata> {
    if (this.current) return this.current;
    this.asking ??= this.authenticate(options).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  /**
   * Authenticates as another user, or by another password, from the next token on. The present one stays: etcd refuses
   * it once the password is another one there, whether that is before or after it is known here.
   */
  renew(user: UserAndPassword): void {
    this.user = user;
  }

  /** Drops a token that etcd did not take. A newer one is kept. */
  forget(refused: Metadata | undefined = this.current): void {
    if (this.current === refused) this.current = undefined;
  }

  private async authenticate(options: Partial<TimedOptions>): Promise<Metadata> {
    // A token is requested once in five minutes, which does not justify a standing connection.
    const connection = this.open();
    try {
      const { username: name, password } = this.user;
      const timed: TimedOptions = { until: options.until ?? deadlineIn(AUTHENTICATE_MS) };
      const { token } = await new AuthClient(connection).authenticate({ name, password }, timed);
      const metadata = await connection.blankMetadata();
      metadata.set('token', token);
      this.current = metadata;
      return metadata;
    } finally {
      connection.close();
    }
  }
}
