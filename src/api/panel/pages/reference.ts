import type { WholeReply } from '../../http/reply.ts';
import type { PublicFile, PublicPath } from '../../operator/public-files.ts';

/*
 * The reference of `/v1` in the panel. It is for signed-in users, and of the owners' API alone: the panel may face the
 * internet, where nothing is to speak of the operator's API, or ask for the operator's token.
 */

/** The path of the reference page on the panel. */
export const REFERENCE_PAGE = '/docs';
/** Leads to it, from the paths by which the panel's other answers to programs begin. */
export const REFERENCE_ALIAS = '/panel/docs';

type ReferencePath = Exclude<PublicPath, '/openapi/device.json' | '/openapi/operator.json'>;
export type ReferenceFiles = Readonly<Record<ReferencePath, PublicFile>>;

const FILES = {
  [REFERENCE_PAGE]: true,
  '/docs/page.js': true,
  '/docs/page.css': true,
  '/docs/swagger-ui.js': true,
  '/docs/swagger-ui.css': true,
  '/docs/favicon.svg': true,
  '/openapi/v1.json': true,
} as const satisfies Record<ReferencePath, true>;

export const REFERENCE_FILES = Object.keys(FILES) as readonly ReferencePath[];

/** All paths of the reference, which are the labels of their metrics too. */
export const REFERENCE_PATHS = [...REFERENCE_FILES, REFERENCE_ALIAS] as const;

/** Sends a browser on to another page of the panel. */
export const seeOther = (path: string): WholeReply => ({ status: 303, headers: ['Location', path] });
