import { LIMITS } from '../../domain/limits.ts';

/*
 * The entity tags of If-None-Match and If-Match (RFC 9110, 8.8.3 and 13.1). A tag of this service names what is stored,
 * not the bytes of an answer, so a tag that a proxy has changed with its compression still names the same: nginx makes
 * it weak (`W/"a"`), Apache's mod_deflate and mod_brotli, Caddy and Jetty add a suffix to it (`"a-gzip"`).
 */

/** One tag of a list, with the comma behind it. */
const TAG = /[\s,]*(?:W\/)?("[^"]*")\s*(?:,|$)/y;
const SUFFIX = /--?(?:gzip|br|zstd|deflate)"$/;

/** The first tags of a field, up to what is none, with their quotes and without their weakness. `*` is none. */
export function entityTags(field: string): readonly string[] {
  const tags: string[] = [];
  TAG.lastIndex = 0;
  for (let found = TAG.exec(field); found?.[1] !== undefined; found = TAG.exec(field)) {
    if (tags.push(found[1]) === LIMITS.entityTagsMax) break;
  }
  return tags;
}

/**
 * Tells whether a field names a tag: by itself, as one that a proxy has changed, or as `*`.
 * @param field of the request; undefined where it has none @param etag a strong tag of the service, with its quotes
 */
export function namesTag(field: string | undefined, etag: string): boolean {
  if (field === undefined) return false;
  // Mostly it is the one tag that was sent, to the letter.
  if (field === etag || field.trim() === '*') return true;
  return entityTags(field).some((tag) => tag === etag || tag.replace(SUFFIX, '"') === etag);
}
