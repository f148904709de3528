import { connect, type Socket } from 'node:net';

/** The answer to a request; `undefined` takes its place where none came. */
export interface Reply {
  readonly status: number;
  /** Status line and headers, latin1. */
  readonly head: string;
  readonly body: string;
}
export type Done = (reply: Reply | undefined) => void;

/**
 * Requests over a bounded number of keep-alive connections, one in flight on each, the others in their order behind
 * them. They are written and read as bytes and not by clients/typescript, as everything else here is: a client must cost
 * less than the service that it drives, and node's own costs more. It understands the answers of Muster alone: HTTP/1.1 with a Content-Length, or without a body.
 */
export class Connections {
  readonly #host: string;
  readonly #port: number;
  readonly #max: number;
  readonly #idle: Line[] = [];
  readonly #open = new Set<Line>();
  #waiting: { readonly request: string; readonly done: Done }[] = [];
  #next = 0;
  #closed = false;

  /** @param url `http://HOST:PORT` */
  constructor(url: string, max: number) {
    const { hostname, port } = new URL(url);
    this.#host = hostname.replace(/^\[|\]$/g, '');
    this.#port = Number(port || 80);
    this.#max = max;
  }

  /** @param done called once, never before this returns */
  send(request: string, done: Done): void {
    if (this.#closed) return queueMicrotask(() => done(undefined));
    const line = this.#idle.pop() ?? this.#another();
    if (line) line.send(request, done);
    else this.#waiting.push({ request, done });
  }

  ask(request: string): Promise<Reply | undefined> {
    return new Promise((resolve) => this.send(request, resolve));
  }

  /** Requests that still wait get no answer. */
  close(): void {
    this.#closed = true;
    for (const line of this.#open) line.close();
    for (const { done } of this.#waiting.slice(this.#next)) done(undefined);
    this.#waiting = [];
    this.#next = 0;
  }

  #another(): Line | undefined {
    if (this.#open.size >= this.#max) return undefined;
    const line = new Line(
      connect({ host: this.#host, port: this.#port, noDelay: true }),
      () => this.#free(line),
      () => this.#lost(line),
    );
    this.#open.add(line);
    return line;
  }

  #free(line: Line): void {
    const next = this.#take();
    if (next) line.send(next.request, next.done);
    else this.#idle.push(line);
  }

  #lost(line: Line): void {
    this.#open.delete(line);
    const at = this.#idle.indexOf(line);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#closed) return;
    const next = this.#take();
    if (next) this.send(next.request, next.done);
  }

  #take(): { readonly request: string; readonly done: Done } | undefined {
    const next = this.#waiting[this.#next];
    if (!next) return undefined;
    this.#next += 1;
    if (this.#next > this.#waiting.length / 2) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    return next;
  }
}

/** One connection. */
class Line {
  readonly #socket: Socket;
  #text = '';
  #done: Done | undefined;

  constructor(socket: Socket, free: () => void, lost: () => void) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.#text = this.#text === '' ? text : this.#text + text;
      const reply = replyIn(this.#text);
      if (!reply) return;
      this.#text = '';
      this.#end(reply);
      free();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#end(undefined);
      lost();
    });
  }

  send(request: string, done: Done): void {
    this.#done = done;
    this.#socket.write(request, 'latin1');
  }

  close(): void {
    this.#socket.destroy();
  }

  #end(reply: Reply | undefined): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(reply);
  }
}

function replyIn(text: string): Reply | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const status = Number(head.slice(9, 12));
  const length = status === 304 || status === 204 ? 0 : Number(headerOf(head, 'content-length') ?? 0);
  const body = text.slice(end + 4);
  return body.length < length ? undefined : { status, head, body };
}

/** @param name in lower case */
export function headerOf(head: string, name: string): string | undefined {
  const lower = head.toLowerCase();
  const at = lower.indexOf(`\r\n${name}: `);
  if (at < 0) return undefined;
  const from = at + name.length + 4;
  const end = head.indexOf('\r\n', from);
  return head.slice(from, end < 0 ? undefined : end);
}

export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(text)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: muster\r\n${fields.join('')}${length}\r\n${text}`;
}
