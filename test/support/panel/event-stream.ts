import { request } from 'node:http';
import { until } from '../time/until.ts';
import type { Browser, PanelMuster } from './panel-users.ts';

/** An event of a stream. */
interface SentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** A stream of events that a browser has open. */
export interface EventStream extends Disposable {
  readonly status: number;
  readonly events: readonly SentEvent[];
  readonly isOver: boolean;
  /** Waits for an event that fits, of those that came since the stream began. */
  has(event: string, data?: object): Promise<void>;
  /** How many pieces were received: each is a write of the service, or several. */
  readonly pieces: number;
  /** Comments that say that the stream is still there. */
  readonly beats: number;
}

/** Opens `/panel/v1/events`. @param query with its question mark, or empty */
export async function openEvents(
  { muster }: Pick<PanelMuster, 'muster'>,
  browser: Pick<Browser, 'token'> | undefined,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const { port } = muster.service.panel;
  const cookie = browser ? { cookie: `muster_${port}=${browser.token}` } : {};
  const asked = request({
    host: '127.0.0.1',
    port,
    path: `/panel/v1/events${query}`,
    headers: { ...cookie, ...headers },
  });
  const events: SentEvent[] = [];
  const state = { status: 0, isOver: false, pieces: 0, beats: 0 };
  let text = '';
  asked.on('error', () => (state.isOver = true));
  asked.on('response', (response) => {
    state.status = response.statusCode ?? 0;
    response.setEncoding('utf8');
    response.on('data', (piece: string) => {
      state.pieces += 1;
      text += piece;
      const whole = text.split('\n\n');
      text = whole.pop() ?? '';
      state.beats += whole.filter((event) => event === ':').length;
      events.push(...whole.filter((event) => event.includes('event:')).map(parsed));
    });
    for (const end of ['end', 'close', 'error']) response.on(end, () => (state.isOver = true));
  });
  asked.end();
  await until(() => state.status !== 0);
  return {
    get status() {
      return state.status;
    },
    get isOver() {
      return state.isOver;
    },
    get pieces() {
      return state.pieces;
    },
    get beats() {
      return state.beats;
    },
    events,
    has: (event, data) =>
      until(() =>
        events.some((one) => one.event === event && (data === undefined || one.data === JSON.stringify(data))),
      ),
    [Symbol.dispose]: () => void asked.destroy(),
  };
}

function parsed(text: string): SentEvent {
  const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1];
  return { id: field('id'), event: field('event') ?? '', data: field('data') ?? '' };
}
