import type { Environment } from '../../terminal/terminal.ts';
import { invocation } from '../../terminal/invocation.ts';
import { printable } from '../../terminal/printable.ts';
import { isKnown } from '../../connection/connection.ts';
import { readContexts } from '../../connection/context-file.ts';
import { operatorOf, ownerOf } from '../../connection/clients.ts';

/** The kinds of words that the program itself does not know. */
export type Kind = 'app' | 'account' | 'context';

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** A person waits at the terminal meanwhile. */
export const DEADLINE_MS = 1000;
/** More would not help anybody to choose. */
const CANDIDATES_MAX = 50;
/** Accounts that are looked through; a page of the operator API. */
const ACCOUNTS_MAX = 1000;

/** The address of the service as the line that is completed names it. */
export interface Given {
  readonly url?: string;
  readonly context?: string;
}

/** How the service is asked. */
interface Asking extends Given {
  /** Milliseconds that it has. */
  readonly deadlineMs: number;
}

/** The ids or names that begin so: none where they cannot be had, since nobody asked for words about that. */
export async function candidates(kind: Kind, prefix: string, env: Environment, asking: Asking): Promise<Candidate[]> {
  const found: Candidate[] = [];
  try {
    for await (const one of SOURCES[kind](env, asking)) {
      if (one.value.startsWith(prefix)) found.push(one);
      if (found.length === CANDIDATES_MAX) break;
    }
  } catch {
    // The candidates that were found by then are as good as before.
  }
  return found;
}

const SOURCES: Readonly<Record<Kind, (env: Environment, asking: Asking) => AsyncIterable<Candidate> | Candidate[]>> = {
  async *app(env, asking) {
    const call = silent(env, asking);
    if (!isKnown('api', call)) return;
    const { apps } = await ownerOf(call).listApps({ signal: AbortSignal.timeout(asking.deadlineMs) });
    for (const { appId, name, status } of apps) yield { value: appId, description: described(name, status) };
  },
  async *account(env, asking) {
    const call = silent(env, asking);
    if (!isKnown('ops', call)) return;
    const operator = operatorOf(call);
    let looked = 0;
    const signal = AbortSignal.timeout(asking.deadlineMs);
    for await (const { accountId, name } of operator.accounts({ limit: ACCOUNTS_MAX }, { signal })) {
      yield { value: accountId, description: described(name) };
      if ((looked += 1) === ACCOUNTS_MAX) return;
    }
  },
  context: (env) => [...readContexts(env).named.keys()].toSorted().map((value) => ({ value, description: '' })),
};

const silent = (env: Environment, { deadlineMs, ...given }: Asking) =>
  invocation(env, { ...given, quiet: true, timeout: deadlineMs / 1000 });

/** On one line: names are chosen by others, and a tab or an end of line would be one of the protocol. */
const described = (...words: readonly string[]): string => words.filter(Boolean).map(printable).join(', ');
