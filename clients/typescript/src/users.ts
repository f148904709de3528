import { doneOf, jsonOf, listOf } from './answers.ts';
import { segment } from './connection.ts';
import type {
  ChangeUserRequest,
  CreatedUser,
  CreateUserRequest,
  MadeApiKeys,
  User,
  UserLink,
  UserList,
} from './generated/operator.ts';
import type { CallOptions } from './options.ts';
import type { Transport } from './transport.ts';

const USERS = '/operator/v1/users';

/** The operations on the people who use the panel, which the operator's client has. */
export abstract class UserOperations {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates a user of the panel, with the link for his first sign-in, which no later answer shows. It is not sent again
   * after a lost answer: `resetUser` makes another link.
   */
  async createUser(body: CreateUserRequest, options?: CallOptions): Promise<CreatedUser> {
    return await jsonOf(
      this.#transport.send({ method: 'POST', path: USERS, body, repeatable: false }, options),
      'user',
    );
  }

  /** By name. */
  async listUsers(options?: CallOptions): Promise<UserList> {
    return await listOf(this.#transport.send({ method: 'GET', path: USERS, repeatable: true }, options), 'users');
  }

  /** Fields that are left out stay as they are. */
  async changeUser(userId: string, body: ChangeUserRequest, options?: CallOptions): Promise<User> {
    const path = `${USERS}/${segment(userId)}`;
    return await jsonOf(this.#transport.send({ method: 'PATCH', path, body, repeatable: true }, options), 'userId');
  }

  /**
   * With all sessions and memberships, and the API keys that the user made, but for `keepKeys`. Sent again after a lost answer
   * it may end with `not_found`.
   */
  async deleteUser(userId: string, options?: CallOptions, keepKeys: readonly string[] = []): Promise<void> {
    const query = keepKeys.length === 0 ? {} : { keepKeys: keepKeys.join(',') };
    const path = `${USERS}/${segment(userId)}`;
    await doneOf(this.#transport.send({ method: 'DELETE', path, query, repeatable: true }, options));
  }

  /** The living API keys that the user made, and those of nobody known. */
  async listUserApiKeys(userId: string, options?: CallOptions): Promise<MadeApiKeys> {
    const path = `${USERS}/${segment(userId)}/api-keys`;
    return await listOf(this.#transport.send({ method: 'GET', path, repeatable: true }, options), 'apiKeys');
  }

  /** Makes a link that resets the sign-in of a user, and voids those before it. No later answer shows it. */
  async resetUser(userId: string, options?: CallOptions): Promise<UserLink> {
    const path = `${USERS}/${segment(userId)}/reset`;
    return await jsonOf(this.#transport.send({ method: 'POST', path, repeatable: true }, options), 'linkId');
  }
}
