import { spawn } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { guard } from '../run/guard.ts';
import { COMPILED } from '../service/compiled.ts';

export const CLIENT_SECRET = 'a client secret for tests alone, long enough';

/** A key by which a provider signs. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

export const signingKey = (kid: string): SigningKey => ({
  kid,
  privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
});

const jwkOf = ({ kid, privateKey }: SigningKey): object => ({
  ...privateKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  alg: 'ES256',
});

/** A real provider (oidc-provider) in a process of its own. */
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly key: SigningKey;
  /**
   * Who signs in from now on, in which groups; `null` groups: the claim is left out. `down`: it answers 503; `gone`: it
   * knows nobody any more; `asks`: it shows a page with a button before it signs anybody in.
   */
  set(state: { user?: string; groups?: unknown; down?: boolean; gone?: boolean; asks?: boolean }): Promise<void>;
  /** It signs with this key from now on, and has forgotten the one before. */
  rotate(key: SigningKey): Promise<void>;
}

/** Starts the process. @returns its address */
async function spawned(): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'oidc-provider-main.ts')], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...COMPILED, PATH: process.env['PATH'], NODE_NO_WARNINGS: '1' },
  });
  guard(child);
  child.stdin.end(JSON.stringify({ clientSecret: CLIENT_SECRET }));
  const lines = createInterface({ input: child.stdout });
  const issuer = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the provider ended with ${code}`)));
    lines.on('line', (line) => {
      if (line.startsWith('http://')) resolve(line);
    });
  });
  // It keeps no worker from ending.
  if (child.stdout instanceof Socket) child.stdout.unref();
  child.unref();
  return issuer;
}

/** One process for all tests of a worker, each of which begins with a provider that nothing has happened at. */
let running: Promise<string> | undefined;

/**
 * Only one at a time in a worker.
 * @param redirectUri where it sends browsers back to
 */
export async function startProvider(redirectUri: string): Promise<TestProvider> {
  const key = signingKey('first');
  const issuer = await (running ??= spawned());
  const control = async (state: object, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
    await fetch(`${issuer}/control`, { method: 'POST', headers, body: JSON.stringify(state) });
  };
  await control({ redirectUri, keys: [jwkOf(key)] }, { 'x-begins': 'yes' });
  return {
    issuer,
    key,
    set: control,
    rotate: (next) => control({ keys: [jwkOf(next)] }, { 'x-rotate': 'yes' }),
    [Symbol.asyncDispose]: () => control({ down: true }),
  };
}

/** A browser that follows redirects, with the cookies of every origin. */
export class RedirectedBrowser {
  readonly #jar = new Map<string, string>();

  /**
   * @param form sent to the first address
   * @returns the last answer, and where it came from; a redirect that `stop` names is not followed
   */
  async go(
    url: string,
    stop: (url: URL) => boolean = () => false,
    form?: Readonly<Record<string, string>>,
  ): Promise<{ url: URL; response: Response }> {
    let at = new URL(url);
    for (let step = 0; step < 20; step += 1) {
      const response = await fetch(at, {
        redirect: 'manual',
        headers: { cookie: this.#cookiesOf(at) },
        ...(step === 0 && form && { method: 'POST', body: new URLSearchParams(form) }),
      });
      this.keep(at, response.headers);
      const location = response.headers.get('location');
      if (location === null) return { url: at, response };
      await response.body?.cancel();
      const next = new URL(location, at);
      if (stop(next)) return { url: next, response };
      at = next;
    }
    throw new Error('The redirects have no end.');
  }

  keep({ host }: URL, headers: Headers): void {
    for (const field of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(field) ?? [];
      if (value === '' || /max-age=0/i.test(field)) this.#jar.delete(`${host} ${name}`);
      else this.#jar.set(`${host} ${name}`, value);
    }
  }

  set({ host }: URL, name: string, value: string): void {
    this.#jar.set(`${host} ${name}`, value);
  }

  cookie({ host }: URL, name: string): string | undefined {
    return this.#jar.get(`${host} ${name}`);
  }

  #cookiesOf({ host }: URL): string {
    return [...this.#jar]
      .filter(([key]) => key.startsWith(`${host} `))
      .map(([key, value]) => `${key.slice(host.length + 1)}=${value}`)
      .join('; ');
  }
}
