import { call, OPERATOR_TOKEN, type Answer, type Call, type Muster } from '../service/muster.ts';
import type { Browser } from './panel-users.ts';

/** The end of a cookie's name. */
type CookieRest = '' | '-flow' | '-browser' | '-ticket';

/** A browser before the panel: it keeps the cookies that it is given, and sends them. */
export class Visitor {
  readonly #muster: Pick<Muster, 'service' | 'ops'>;
  readonly #cookies = new Map<string, string>();
  /** The address that a trusted proxy tells; without one the connection's own. */
  readonly #address: string | undefined;

  constructor(muster: Pick<Muster, 'service' | 'ops'>, options: { address?: string; browser?: Browser } = {}) {
    this.#muster = muster;
    this.#address = options.address;
    if (options.browser) this.setCookie('', options.browser.token);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#muster.service.panel.port}`;
  }

  /** @param rest of the cookie's name: `''` for the session, `-flow`, `-browser`, `-ticket` */
  #nameOf(rest: string): string {
    return `muster${rest}_${this.#muster.service.panel.port}`;
  }

  cookie(rest: CookieRest): string | undefined {
    return this.#cookies.get(this.#nameOf(rest));
  }

  setCookie(rest: CookieRest, value: string): void {
    this.#cookies.set(this.#nameOf(rest), value);
  }

  async ask(path: string, request: Call = {}): Promise<Answer> {
    const { method = 'GET' } = request;
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await call(`${this.origin}/panel/v1${path}`, {
      ...request,
      headers: {
        ...(cookie !== '' && { cookie }),
        ...(method !== 'GET' && { origin: this.origin, 'content-type': 'application/json' }),
        ...(this.#address !== undefined && { 'x-forwarded-for': this.#address }),
        ...request.headers,
      },
    });
    for (const field of answer.headers.getSetCookie()) this.#keep(field);
    return answer;
  }

  post(path: string, body: object = {}): Promise<Answer> {
    return this.ask(path, { method: 'POST', body });
  }

  /** The status of `/me`: 200 where somebody is signed in here. */
  async me(): Promise<number> {
    return (await this.ask('/me')).status;
  }

  #keep(field: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(field) ?? [];
    if (/; Max-Age=0(?:;|$)/.test(field)) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}

/** The code of a refusal; undefined where it is none. */
export const codeOf = ({ body }: Pick<Answer, 'body'>): unknown =>
  (body['error'] as { code?: unknown } | undefined)?.code;

/** The token in the address of a link. */
export const tokenOf = (url: unknown): string => new URL(String(url)).hash.slice(1);

/** A request of the operator API, by the token of tests. */
export const asOperator = (muster: Pick<Muster, 'ops'>, path: string, request: Call = {}): Promise<Answer> =>
  call(`${muster.ops}/operator/v1${path}`, { ...request, token: OPERATOR_TOKEN });

/** A user whom the operator made and who has used his first link, in a browser of his own. */
export async function enteredUser(
  muster: Pick<Muster, 'service' | 'ops'>,
  options: { login?: string; password?: string; operator?: boolean; name?: string } = {},
): Promise<{ visitor: Visitor; userId: string; login: string; password: string }> {
  const { login = 'ann@example.com', password = GOOD_PASSWORD, operator = false, name = 'Ann' } = options;
  const created = await asOperator(muster, '/users', { method: 'POST', body: { name, login, operator } });
  if (created.status !== 201) throw new Error(`POST /users: ${created.status} ${created.text}`);
  const { user, link } = created.body as { user: { userId: string }; link: { url: string } };
  const visitor = new Visitor(muster);
  const accepted = await visitor.post('/links/accept', { token: tokenOf(link.url), password });
  if (accepted.status !== 200) throw new Error(`POST /links/accept: ${accepted.status} ${accepted.text}`);
  return { visitor, userId: user.userId, login, password };
}

export const GOOD_PASSWORD = 'otter lamp quietly folds maps';
export const OTHER_PASSWORD = 'seven kettles under the pier';
