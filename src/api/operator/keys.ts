import type { KeyStatus } from '../../domain/key-rotation/key-rotation.ts';
import * as operations from '../contract/operator/service.ts';
import { handle } from './route.ts';

const statusBody = (status: KeyStatus) => ({
  ...status,
  sealedUnder: Object.fromEntries(status.sealedUnder),
  awaitingRetirement: Object.fromEntries(status.awaitingRetirement),
});

/** GET /operator/v1/keys: numbers only, never a key, nor anything made from one. */
export const readKeys = handle(operations.readKeys)(async (_request, { keyRotation }) => ({
  status: 200,
  body: statusBody(await keyRotation.status()),
}));

/** POST /operator/v1/keys/rotation: the newest key of the key file becomes the active one. */
export const rotateKeys = handle(operations.rotateKeys)(async ({ origin }, { keyRotation }) => ({
  status: 200,
  body: await keyRotation.rotate(origin),
}));
