/*
 * The entity tags of conditional requests (RFC 9110, 8.8.3 and 13.1). Proxies that compress a response mark its tag:
 * nginx makes it weak, Apache and Caddy add the coding to it. The content is the same, so a tag is compared without
 * either mark, in If-Match too: a client behind such a proxy can name no other.
 */

const TAG = /"[\x21\x23-\x7e\x80-\xff]*"/g;
const CODING = /--?(?:gzip|br|zstd|deflate)"$/;

/** The tags that a field names, with their quotes and without the marks of proxies; `*` stands for anything there is. */
export type NamedTags = '*' | readonly string[];

/** @param field If-Match or If-None-Match; what is no tag in it names nothing */
export const namedTags = (field: string): NamedTags =>
  field.trim() === '*' ? '*' : (field.match(TAG) ?? []).map((tag) => tag.replace(CODING, '"'));

/** Whether the tags name what is there. @param exists what `*` asks for */
export const doName = (named: NamedTags, etag: string, exists: boolean): boolean =>
  named === '*' ? exists : named.includes(etag);
