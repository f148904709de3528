import type { CredentialKind } from '../../../src/domain/access-audit/failed-attempts.ts';
import type { Store } from '../../../src/store/port.ts';
import { PATH_IDS } from '../../../src/api/contract/fields.ts';
import { signedIn } from '../panel/panel-users.ts';
import { OPERATOR_TOKEN, type Muster } from '../service/muster.ts';
import type { ListenerName } from '../../../src/config/listeners.ts';
import { EVERYTHING, type Served } from './doors.ts';
import type { Got, Method, Sent } from './send.ts';
import { operationsOf, readDocument } from '../openapi/documents.ts';
import { forgedKey } from '../records/forged-keys.ts';

/*
 * The secrets that let a client in at each door, wrong ones of the same shape, and the requests that are made with
 * them.
 */

interface Asking {
  readonly muster: Muster;
  readonly store: Store;
  readonly urlOf: (listener: ListenerName) => string;
  readonly ask: (listener: ListenerName, path: string, sent: Sent) => Promise<Got>;
}

/** A request of the walk, and what is expected of its answer beside what holds of every answer. */
interface Walked extends Sent {
  /** In words. */
  readonly what: string;
  readonly path: string;
  readonly status?: number;
  /** Of the error. */
  readonly code?: string;
  readonly allow?: string;
  /** The kind of secret that fails by it: it is counted, and in the log. */
  readonly fails?: CredentialKind | undefined;
  /** Whether its answer has no body. */
  readonly isBare?: boolean;
  /** Whether the document of the API tells of the answer. */
  readonly isDocumented: boolean;
}

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const json = ({ text }: Got): Record<string, string> => JSON.parse(text) as Record<string, string>;

interface Tokens {
  readonly api: string;
  readonly device: string;
  readonly ops: string;
}

export class Keyring {
  readonly #asking: Asking;
  readonly #ids: Readonly<Record<string, string>>;
  readonly #tokens: Tokens;

  private constructor(asking: Asking, ids: Readonly<Record<string, string>>, tokens: Tokens) {
    this.#asking = asking;
    this.#ids = ids;
    this.#tokens = tokens;
  }

  /** Makes an account with an API key and an app with a daemon. */
  static async filled(asking: Asking): Promise<Keyring> {
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const post = async (listener: ListenerName, path: string, token: string, body: object = {}) =>
      json(await asking.ask(listener, path, { method: 'POST', headers: bearer(token), body }));
    const accounts = '/operator/v1/accounts';
    const { accountId = '' } = await post('ops', accounts, OPERATOR_TOKEN, { name: 'a', entitlement: 'enterprise' });
    const { keyId = '', apiKey = '' } = await post('ops', `${accounts}/${accountId}/api-keys`, OPERATOR_TOKEN);
    const { appId = '', enrollCode = '' } = await post('api', '/v1/apps', apiKey, { name: 'a' });
    const enrolled = { appId, enrollCode, platform: 'linux', agentVersion: '1', connection: 'cloud' };
    const { credential = '' } = json(
      await asking.ask('device', '/device/v1/enroll', { method: 'POST', body: enrolled }),
    );
    return new Keyring(asking, { accountId, keyId, appId }, { api: apiKey, device: credential, ops: OPERATOR_TOKEN });
  }

  get accountId(): string {
    return this.#ids['accountId'] ?? '';
  }

  /** A request for it by a stranger. */
  strange(served: Served): Sent & { readonly path: string } {
    return { method: served.method, path: pathOf(served, {}), headers: this.#page(served) };
  }

  /** What the walk asks of something: as a stranger, with a wrong secret, with the right one, by other methods. */
  async requestsFor(served: Served): Promise<readonly Walked[]> {
    const { method, api } = served;
    const isRead = method === 'GET';
    // What is there is read; what is changed is what the examples name, which is not there.
    const path = pathOf(served, isRead ? this.#ids : {});
    const body = bodyOf(served);
    const isDocumented = api !== undefined;
    const common = { path, body, method, isDocumented } as const;
    const right = await this.#right(served);
    const requests: Walked[] = [
      { ...common, what: 'by a stranger', headers: this.#page(served), fails: served.operation?.signsInBy },
      { ...common, what: 'with a wrong secret', headers: this.#wrong(served), fails: kindOf(served) },
      { ...common, what: 'with the right secret', headers: right },
      // A file or a page for signed-in users is opened, too.
      { ...common, what: 'opened in a browser', headers: { ...right, accept: 'text/html' }, isDocumented: false },
    ];
    for (const field of namesIn(served, body)) {
      const turned = { path: pathOf(served, this.#ids), body: { ...body, [field]: 'a\u202eb' } };
      const expected = { status: 400, code: 'invalid_request', isDocumented: false };
      requests.push({
        ...common,
        ...expected,
        ...turned,
        what: `with a ${field} that turns the line`,
        headers: right,
      });
    }
    if (isRead)
      requests.push({ ...common, method: 'HEAD', what: 'by HEAD', headers: right, isDocumented: false, isBare: true });
    for (const other of await this.#otherMethods(served, path)) requests.push(other);
    return requests;
  }

  async #otherMethods(served: Served, path: string): Promise<readonly Walked[]> {
    const { listener, path: template } = served;
    const ofListener = EVERYTHING.filter((one) => one.listener === listener);
    const methodsOf = (fits: (one: Served) => boolean): readonly Method[] =>
      ofListener.filter(fits).map(({ method }) => method);
    // A parameter of another template may stand for a word of this one.
    const known = methodsOf(({ path: other }) => patternOf(other).test(path));
    // A page is no operation: any other request for its path is for nothing.
    if (listener === 'panel' && template === '/') return [];
    const own = methodsOf(({ path: other }) => other === template);
    const allow = own.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    const headers = await this.#right(served);
    return METHODS.filter((method) => !known.includes(method)).map((method) => ({
      what: `by ${method}`,
      path,
      method,
      headers,
      status: 404,
      code: 'not_found',
      allow,
      isDocumented: false,
    }));
  }

  /** What a page of the panel sends with every request. */
  #page({ listener, method }: Served): Record<string, string> {
    if (listener !== 'panel' || method === 'GET') return {};
    return { origin: this.#asking.urlOf('panel'), 'content-type': 'application/json' };
  }

  async #right(served: Served): Promise<Record<string, string>> {
    const { listener } = served;
    if (listener !== 'panel') return { authorization: `Bearer ${this.#tokens[listener]}` };
    // A session of its own for each: some end it.
    const { token } = await signedIn(this.#asking.store, { operator: true });
    return { ...this.#page(served), cookie: `${this.#cookie()}=${token}` };
  }

  /** As well-formed as the right one. */
  #wrong(served: Served): Record<string, string> {
    const { listener } = served;
    if (listener === 'panel') {
      return { ...this.#page(served), cookie: `${this.#cookie()}=mst_session_${'0'.repeat(43)}` };
    }
    const token = this.#tokens[listener];
    // Of a key that exists the audit tells, too.
    return { authorization: `Bearer ${listener === 'api' ? forgedKey(token) : `${token.slice(0, -8)}AAAAAAAA`}` };
  }

  #cookie(): string {
    const url = new URL(this.#asking.urlOf('panel'));
    return url.protocol === 'https:' ? '__Host-muster' : `muster_${url.port}`;
  }
}

/** The path with ids: those that there are, else those of the examples. */
function pathOf({ path }: Served, ids: Readonly<Record<string, string>>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? String(PATH_IDS[name]?.meta()?.examples?.[0]));
}

/** The kind of secret by which something lets its caller in. */
function kindOf({ listener, operation, path }: Served): CredentialKind | undefined {
  if (listener === 'api') return 'api_key';
  if (listener === 'ops') return operation && 'operator_token';
  if (listener === 'panel') return operation?.signsInBy;
  // An enrollment is let in by its code; OpAMP has no operation.
  return path === '/device/v1/enroll' ? 'enroll_code' : 'device_credential';
}

/**
 * The fields of a body that name a person, an account or a key (P13). An app's name is its owner's own (A1), and of a
 * sign-in none is new.
 */
function namesIn({ api, path }: Served, body: object | undefined): readonly string[] {
  if (api === 'v1' || path.startsWith('/panel/v1/sign-in/') || path.endsWith('/apps') || path.endsWith('/apps/:appId'))
    return [];
  return Object.keys(body ?? {}).filter((field) => ['name', 'login', 'displayName'].includes(field));
}

const patternOf = (template: string): RegExp => new RegExp(`^${template.replaceAll(/:\w+/g, '[^/]+')}$`);

/** The example of the body in the document; undefined where it takes none. */
function bodyOf({ api, operation, method }: Served): object | undefined {
  if (api === undefined || operation === undefined) return method === 'GET' ? undefined : {};
  const documented = operationsOf(readDocument(api)).find((one) => one.operation.operationId === operation.id);
  const example = documented?.operation.requestBody?.content['application/json']?.example;
  return example === undefined ? undefined : (example as object);
}
