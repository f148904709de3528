import * as operations from '../../contract/panel/addresses.ts';
import { handle } from '../request/route.ts';

/** GET /panel/v1/addresses. */
export const readAddresses = handle(operations.readAddresses)((_request, { publicUrls }) =>
  Promise.resolve({ status: 200, body: publicUrls() }),
);
