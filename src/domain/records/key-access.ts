/* H23: the words for the access of an API key. The panel's pages have them, too, so this file needs nothing else. */

/** `full` is the key of the whole account, `read` reads, `enroll` creates apps and issues codes for those. */
export const KEY_ACCESSES = ['full', 'read', 'enroll'] as const;
export type KeyAccess = (typeof KEY_ACCESSES)[number];
