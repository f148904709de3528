import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { FairQueue } from '../../concurrency/fair-queue.ts';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Operation } from '../contract/operation.ts';
import { isCompressed, isTagged } from '../contract/panel/reads.ts';
import { takesGzip } from '../headers/accepted-encoding.ts';
import { namesTag } from '../headers/entity-tags.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Reply } from '../http/reply.ts';

/* P16: what a page already has is not sent again, and what it gets is sent in gzip. */

const compress = promisify(gzip);

/**
 * Answers of one user that wait to be compressed; a further one goes as it is. A list of 1000 apps takes 3 ms, beside
 * the event loop. One at a time leaves the other threads of the pool to those who look up names and read files.
 */
const COMPRESSING_MAX = 32;
const compressing = new FairQueue(COMPRESSING_MAX);

/**
 * Makes the answer to a read what is sent of it: nothing but its tag where the page has it, and gzip where the page
 * takes that.
 * @param reader the user and the right by which they read: the tag of one is none of another
 */
export function transferred(
  { request, principal = '' }: Pick<Exchange, 'request' | 'principal'>,
  operation: Pick<Operation, 'method' | 'answers' | 'uncompressed'>,
  reader: string,
  reply: Reply,
): MaybePromise<Reply> {
  if (!isTagged(operation) || !('body' in reply) || reply.body === undefined || reply.status !== 200) return reply;
  const { body } = reply;
  const content = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const bytes = Buffer.from(content);
  const tag = tagOf(reader, bytes);
  const headers = [...(reply.headers ?? []), 'ETag', `W/${tag}`, 'Vary', 'Accept-Encoding'];
  if (namesTag(request.headers['if-none-match'], tag)) return { status: 304, headers };
  const isShort = bytes.length < LIMITS.compressedBytesMin;
  if (isShort || !isCompressed(operation) || !takesGzip(request)) return { ...reply, body: content, headers };
  const compressed = compressing.tryRun(principal, () => compress(bytes));
  if (compressed === undefined) return { ...reply, body: content, headers };
  return compressed.then((inGzip) => ({ ...reply, body: inGzip, headers: [...headers, 'Content-Encoding', 'gzip'] }));
}

/**
 * A tag in quotes. It is sent as a weak one, since it is the same for an answer in gzip and for one that is not. It has
 * no hyphen: proxies add suffixes with one.
 */
const tagOf = (reader: string, body: Buffer): string =>
  `"${createHash('sha256').update(`${reader}\n`).update(body).digest('hex').slice(0, 32)}"`;
