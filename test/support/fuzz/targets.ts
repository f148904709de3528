import { randomBytes } from 'node:crypto';
import { DeviceClient, MusterError, OperatorClient, OwnerClient } from '#client';
import { credentialHash, makeCredential } from '../../../src/cli/agent/credential.ts';
import type { ApiName } from '../openapi/documents.ts';
import { OPERATOR_TOKEN, tenant, type CreatedApp, type Tenant } from '../service/muster.ts';
import type { Addresses } from '../service/muster-process.ts';

interface Target {
  readonly url: string;
  readonly secret: string;
  /** Of records that exist, by the name of the parameter. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
}

const APPS = 60;
const ACCOUNTS = 5;
const REPORTS_MAX = 20;

/**
 * Makes what the fuzzer of each API is told of. The service may be in an outage for moments: what is lost is repeated.
 */
export async function targets(muster: Addresses): Promise<Readonly<Record<ApiName, Target>>> {
  const owner = await tenant(muster);
  const client = new OwnerClient({ url: muster.api, apiKey: owner.apiKey });
  const [own, ...apps] = await Promise.all(Array.from({ length: APPS }, () => client.createApp({ name: 'app' })));
  if (!own) throw new Error('There is no app to enroll.');
  const { credential } = await enrolled(muster, own);
  const others = await Promise.all(Array.from({ length: ACCOUNTS }, () => tenant(muster)));
  const entryIds = await Promise.all(others.map((other) => reviewEntry(muster, other)));
  return {
    v1: { url: muster.api, secret: owner.apiKey, ids: { appId: apps.map(({ appId }) => appId) } },
    device: { url: muster.device, secret: credential, ids: {} },
    operator: {
      url: muster.ops,
      secret: OPERATOR_TOKEN,
      ids: {
        accountId: others.map(({ accountId }) => accountId),
        keyId: others.map(({ keyId }) => keyId),
        entryId: entryIds,
      },
    },
  };
}

/** A daemon that has made its credential itself, so that a lost answer costs no code. */
async function enrolled(
  { device }: Addresses,
  { appId, enrollCode }: CreatedApp,
): Promise<{ readonly credential: string; readonly client: DeviceClient }> {
  const credential = makeCredential(randomBytes);
  const client = new DeviceClient({ url: device, credential });
  const daemon = { platform: 'linux', agentVersion: '1.0.0', connection: 'cloud' } as const;
  const body = { appId, enrollCode, ...daemon, credentialHash: credentialHash(credential) };
  await client.enrollDevice(body, { credential });
  return { credential, client };
}

/** An entry of the account's review queue. */
async function reviewEntry(muster: Addresses, { accountId, apiKey }: Tenant): Promise<string> {
  const { client } = await enrolled(muster, await new OwnerClient({ url: muster.api, apiKey }).createApp());
  const operator = new OperatorClient({ url: muster.ops, token: OPERATOR_TOKEN });
  const event = { id: '1', at: '2026-01-31T09:30:00Z', rule: 'a', severity: 'low', evidence: { hash: 'a' } } as const;
  let lost: unknown;
  for (let reports = 0; reports < REPORTS_MAX; reports += 1) {
    // The client sends a report once; by its id it is the same event again.
    await client.reportDetections({ events: [event] }).catch((error: unknown) => {
      if (!(error instanceof MusterError)) throw error;
      lost = error;
    });
    for await (const { entryId } of operator.reviewQueue(accountId)) return entryId;
  }
  throw new Error(`The review queue has no entry after ${REPORTS_MAX} reports.`, { cause: lost });
}
