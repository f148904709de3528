import { call, OPERATOR_TOKEN, type Answer, type Muster } from '../service/muster.ts';

/** An event as a daemon sends it; a field that is given as undefined is left out. */
export const detection = (more: object): object => ({
  id: 'event-0',
  at: '2026-06-01T11:59:00Z',
  rule: 'rule',
  severity: 'high',
  evidence: { hash: 'sha256:00' },
  ...more,
});

export const sendDetections = (muster: Pick<Muster, 'device'>, credential: string, events: unknown): Promise<Answer> =>
  call(`${muster.device}/device/v1/detections`, { method: 'POST', token: credential, body: { events } });

/** An entry of the review queue, as the operator API answers it. */
export interface ReviewBody {
  readonly entryId: string;
  readonly appId: string;
  readonly at: string;
  readonly receivedAt: string;
  readonly rule: string;
  readonly severity: string;
  readonly evidence: { readonly hash: string; readonly redacted?: string; readonly full?: string };
  readonly status: string;
  readonly note?: string;
  readonly decidedAt?: string;
}

export const reviewPage = (muster: Pick<Muster, 'ops'>, accountId: string, query = ''): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/accounts/${accountId}/review-queue?${query}`, { token: OPERATOR_TOKEN });

/** The whole queue of an account, page by page. */
export async function listReviews(
  muster: Pick<Muster, 'ops'>,
  accountId: string,
  query = '',
): Promise<readonly ReviewBody[]> {
  const entries: ReviewBody[] = [];
  for (let after = ''; ;) {
    const { body } = await reviewPage(muster, accountId, `${query}${after}`);
    entries.push(...(body['entries'] as ReviewBody[]));
    if (typeof body['next'] !== 'string') return entries;
    after = `&after=${body['next']}`;
  }
}

export const decide = (
  muster: Pick<Muster, 'ops'>,
  accountId: string,
  entryId: string,
  body: object | string,
): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/accounts/${accountId}/review-queue/${entryId}`, {
    method: 'PATCH',
    token: OPERATOR_TOKEN,
    body,
  });
