import * as z from 'zod';
import type { Clock } from '../../../time/clock.ts';
import { metadata } from '../schema/common.ts';
import { KubeError, kubeErrorOf, type WatchEvent } from './kube-api.ts';

/** Bookmarks come about once a minute: a stream that is silent for so long has lost its server. */
const WATCH_SILENT_MS = 150_000;
const LINE_CHARACTERS_MAX = 8_388_608;

interface ByteStream {
  getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>; cancel(): Promise<void> };
}

/**
 * The lines of a watch, one for each event. Ends with the stream.
 * @param cut is aborted after a silence, and ends the request
 * @throws KubeError `unavailable` after a silence or for a line that is too long; the errors of the stream
 */
export async function* linesOf(
  stream: ByteStream | null,
  clock: Pick<Clock, 'sleep'>,
  cut: AbortController,
): AsyncGenerator<string, void, undefined> {
  if (!stream) return;
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await heard(reader.read(), clock, cut);
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LINE_CHARACTERS_MAX) throw new KubeError('unavailable', 0, 'an event of the watch is too long');
      for (const line of lines) if (line !== '') yield line;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function heard<T>(read: Promise<T>, clock: Pick<Clock, 'sleep'>, cut: AbortController): Promise<T> {
  const answered = new AbortController();
  const silence = clock.sleep(WATCH_SILENT_MS, answered.signal).then(() => {
    if (answered.signal.aborted) return undefined;
    const silent = new KubeError('unavailable', 0, 'the watch has been silent for too long');
    cut.abort(silent);
    throw silent;
  });
  try {
    return await Promise.race([read, silence.then(() => read)]);
  } finally {
    answered.abort();
  }
}

const eventSchema = z.looseObject({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({}),
});
const bookmarkSchema = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });
const statusSchema = z.looseObject({
  code: z.int().default(500),
  reason: z.string().default(''),
  message: z.string().default(''),
});
const objectSchema = z.looseObject({ metadata });

/** Parses one line. @throws KubeError for an ERROR event; ZodError or SyntaxError for a line that is no event */
export function watchEventOf(line: string): WatchEvent {
  const { type, object } = eventSchema.parse(JSON.parse(line));
  if (type === 'ERROR') {
    const { code, reason, message } = statusSchema.parse(object);
    throw kubeErrorOf(code, reason, message);
  }
  if (type === 'BOOKMARK') return { type, resourceVersion: bookmarkSchema.parse(object).metadata.resourceVersion };
  return { type, object: objectSchema.parse(object) };
}
