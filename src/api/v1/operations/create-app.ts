import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { dateTime } from '../../../time/date-time.ts';
import { text } from '../../http/fields.ts';
import { REPLAYED, route } from './route.ts';

/** Section 4.1: POST /v1/apps. */
export const createApp = route({
  method: 'post',
  path: '/v1/apps',
  body: z.object({ name: text({ codePointsMax: LIMITS.nameCodePointsMax }).optional() }),
  refuse: { name: 'invalid_name' },
  idempotency: { malformed: 'invalid_name' },

  async handle({ caller, body: { name = '' }, idempotencyKey: key }, { apps }) {
    const idempotency = key === undefined ? undefined : { key, path: '/v1/apps', question: name };
    const created = await apps.create(caller, name, idempotency);
    return {
      status: 201,
      body: {
        appId: created.appId,
        name: created.name,
        status: 'pending',
        enrollCode: created.enrollCode.reveal(),
        enrollCodeExpiresAt: dateTime(created.expiresAt),
      },
      headers: created.replayed ? REPLAYED : [],
    };
  },
});
