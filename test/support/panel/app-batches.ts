import * as z from 'zod';
import { faultyForRequests, type FaultyStore } from '../store/faulty-store.ts';
import type { Backend } from '../store/backends.ts';
import { tenant, type Answer, type MusterOptions } from '../service/muster.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from './panel-users.ts';

/* Batches of apps, as a page of the panel asks for them. */

const OUTCOMES = z.object({
  outcomes: z.array(
    z.object({
      appId: z.string().optional(),
      enrollCode: z.string().optional(),
      error: z.object({ code: z.string() }).optional(),
    }),
  ),
});
export type Outcome = z.infer<typeof OUTCOMES>['outcomes'][number];

/** The outcomes of a batch that was answered. */
export function outcomesOf(answer: Answer): readonly Outcome[] {
  if (answer.status !== 200) throw new Error(`the batch was answered ${answer.status}: ${answer.text}`);
  return OUTCOMES.parse(answer.body).outcomes;
}

/** An account with an owner in front of a store that can fail. */
export class BatchWorld implements AsyncDisposable {
  readonly panel: PanelMuster;
  readonly store: FaultyStore;
  readonly accountId: string;
  readonly apiKey: string;
  readonly owner: Browser;

  private constructor(
    panel: PanelMuster,
    store: FaultyStore,
    account: { accountId: string; apiKey: string },
    owner: Browser,
  ) {
    this.panel = panel;
    this.store = store;
    this.accountId = account.accountId;
    this.apiKey = account.apiKey;
    this.owner = owner;
  }

  static async start(backend: Backend, options: MusterOptions = {}): Promise<BatchWorld> {
    let store: FaultyStore | undefined;
    const panel = await panelMuster(backend, { ...options, wrapStore: (real) => (store = faultyForRequests(real)) });
    if (!store) throw new Error('The service has opened no store.');
    const account = await tenant(panel.muster);
    return new BatchWorld(panel, store, account, await BatchWorld.#owner(panel, account.accountId));
  }

  static #owner = (panel: PanelMuster, accountId: string): Promise<Browser> =>
    signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });

  /** Another owner of the account. */
  anotherOwner(): Promise<Browser> {
    return BatchWorld.#owner(this.panel, this.accountId);
  }

  /** One batch. @param key its Idempotency-Key; none where it is empty */
  batch(change: string, apps: readonly string[], key = '', by: Browser = this.owner): Promise<Answer> {
    return ask(this.panel, by, `/accounts/${this.accountId}/apps/batch`, {
      method: 'POST',
      body: { change, apps },
      ...(key !== '' && { headers: { 'idempotency-key': key } }),
    });
  }

  /** Creates apps and answers their ids. */
  async created(count: number, name = 'edge'): Promise<readonly string[]> {
    const outcomes = outcomesOf(await this.batch('create', namesOf(count, name)));
    return outcomes.map(({ appId = '' }) => appId);
  }

  async apps(): Promise<readonly { appId: string; name: string; status: string }[]> {
    const { body } = await ask(this.panel, this.owner, `/accounts/${this.accountId}/apps`);
    return z.array(z.object({ appId: z.string(), name: z.string(), status: z.string() })).parse(body['apps']);
  }

  async openCodes(appId: string): Promise<unknown> {
    const { body } = await ask(this.panel, this.owner, `/accounts/${this.accountId}/apps/${appId}`);
    return body['openCodes'];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.panel[Symbol.asyncDispose]();
  }
}

export const namesOf = (count: number, name = 'edge'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name} ${index + 1}`);
