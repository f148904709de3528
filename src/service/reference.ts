import type { ApiName } from '../api/openapi/apis.ts';
import { documentOf } from '../api/openapi/document.ts';
import { ownersPageFiles, pageFiles } from '../api/openapi/page/files.ts';
import { PublicFile, type PublicFiles } from '../api/operator/public-files.ts';
import type { ReferenceFiles } from '../api/panel/pages/reference.ts';

/**
 * Makes the files that the ops listener serves without a credential: the documents once, at the start; the page for
 * them is read when somebody opens it.
 */
export const referenceFiles = (): PublicFiles => ({
  ...pageFiles(),
  '/openapi/v1.json': documentFile('v1'),
  '/openapi/device.json': documentFile('device'),
  '/openapi/operator.json': documentFile('operator'),
});

/** The files that the panel serves to signed-in users: the reference of the owners' API, and nothing of the others. */
export const ownersReference = (): ReferenceFiles => ({
  ...ownersPageFiles(),
  '/openapi/v1.json': documentFile('v1'),
});

/** The documents that this process has made: each costs some milliseconds, and two listeners serve one of them. */
const made = new Map<ApiName, Buffer>();

function documentFile(name: ApiName): PublicFile {
  const body = made.get(name) ?? Buffer.from(JSON.stringify(documentOf(name)));
  made.set(name, body);
  return new PublicFile({ type: 'application/json', read: () => Promise.resolve(body) });
}
