import type { KeyStatus } from '../../domain/key-rotation/key-rotation.ts';
import { route } from './route.ts';

const statusBody = (status: KeyStatus): object => ({
  ...status,
  sealedUnder: Object.fromEntries(status.sealedUnder),
  awaitingRetirement: Object.fromEntries(status.awaitingRetirement),
});

/** GET /operator/v1/keys: numbers only, never a key, nor anything made from one. */
export const readKeys = route({
  method: 'get',
  path: '/operator/v1/keys',
  async handle(_request, { keyRotation }) {
    return { status: 200, body: statusBody(await keyRotation.status()) };
  },
});

/** POST /operator/v1/keys/rotation: the newest key of the key file becomes the active one. */
export const rotateKeys = route({
  method: 'post',
  path: '/operator/v1/keys/rotation',
  async handle({ origin }, { keyRotation }) {
    return { status: 200, body: await keyRotation.rotate(origin) };
  },
});
