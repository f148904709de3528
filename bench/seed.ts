import { request } from './load.ts';

export interface Seeded {
  readonly token: string;
  readonly appId: string;
  readonly enrollCode: string;
}

type Json = Record<string, string>;

async function post(url: string, token: string | undefined, body: object): Promise<Json> {
  const response = await fetch(url, {
    method: 'POST',
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Json;
}

/** Accounts with a key and an app each: so many that the rate window of none is reached while it is measured. */
export async function seed(
  ports: { api: number; ops: number },
  operatorToken: string,
  count: number,
): Promise<Seeded[]> {
  const accounts = `http://127.0.0.1:${ports.ops}/operator/v1/accounts`;
  const seeded: Seeded[] = [];
  const one = async (): Promise<void> => {
    const { accountId = '' } = await post(accounts, operatorToken, { name: 'bench', entitlement: 'enterprise' });
    const { apiKey = '' } = await post(`${accounts}/${accountId}/api-keys`, operatorToken, {});
    const { appId = '', enrollCode = '' } = await post(`http://127.0.0.1:${ports.api}/v1/apps`, apiKey, {
      name: 'bench',
    });
    seeded.push({ token: apiKey, appId, enrollCode });
  };
  const workers = Array.from({ length: 32 }, async () => {
    while (seeded.length < count) await one();
  });
  await Promise.all(workers);
  return seeded;
}

/** Fills an account with apps up to the count. */
export async function fill(ports: { api: number }, account: Seeded, count: number): Promise<void> {
  let made = 1;
  const workers = Array.from({ length: 32 }, async () => {
    while (made < count) {
      made += 1;
      await post(`http://127.0.0.1:${ports.api}/v1/apps`, account.token, { name: `app ${made}` });
    }
  });
  await Promise.all(workers);
}

/** A poll that will be answered 304, for each of the accounts' apps. */
export async function polls(ports: { device: number }, accounts: readonly Seeded[]): Promise<string[]> {
  const device = `http://127.0.0.1:${ports.device}/device/v1`;
  return await Promise.all(
    accounts.map(async ({ appId, enrollCode }) => {
      const { credential = '' } = await post(`${device}/enroll`, undefined, { appId, enrollCode, connection: 'cloud' });
      const first = await fetch(`${device}/config`, { headers: { authorization: `Bearer ${credential}` } });
      const etag = first.headers.get('etag') ?? '';
      return request('GET', '/device/v1/config', { Authorization: `Bearer ${credential}`, 'If-None-Match': etag });
    }),
  );
}
