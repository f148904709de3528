import { useMemo, useRef, useState } from 'preact/hooks';
import { batchesOf, inBatches, isFinal, isRefused, ItemRefused, without, type Batch } from '../../api/many.ts';
import { account, type CreatedApp } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';

/* Codes for many apps, new ones or those that there are. They are secrets, and come once. */

/** An app that is to have a code. */
interface Wanted {
  /** Its place among all of them. */
  readonly order: number;
  readonly name: string;
  /** The subject of the request: the name of a new app, or the id of one that there is. */
  readonly asks: string;
}

export interface CodeBatches {
  readonly created: readonly CreatedApp[];
  /** The number of those that have no code, or perhaps have one with its answer lost. */
  readonly rest: number;
  /** The number of those that are refused for good; they are not tried again. */
  readonly refused: number;
  readonly failures: readonly { readonly item: Wanted; readonly error: unknown }[];
  readonly progress: { readonly through: number; readonly all: number } | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  /** Asks for codes for these apps, or for those that are left of an attempt before. */
  readonly run: (apps: readonly Wanted[]) => void;
  /** Lets the request under way come to its end, and begins nothing more. */
  readonly stop: () => void;
}

/** Asks for codes, batch by batch. @param onDone is called after each attempt */
export function useCodeBatches(accountId: string, change: 'create' | 'issue-code', onDone: () => void): CodeBatches {
  const [created, setCreated] = useState<readonly { readonly order: number; readonly app: CreatedApp }[]>([]);
  const [progress, setProgress] = useState<CodeBatches['progress']>();
  const [failures, setFailures] = useState<CodeBatches['failures']>([]);
  const left = useRef<readonly Batch<Wanted>[]>([]);
  const stopping = useRef<AbortController>(undefined);
  const { busy, error, run } = useAction(async (apps: readonly Wanted[]) => {
    const isBegun = left.current.length > 0;
    if (!isBegun) left.current = batchesOf(apps);
    const forGood = isBegun ? failures.filter(({ error: fault }) => isFinal(fault)) : [];
    const all = countOf(left.current);
    const show = (through: number): void => setProgress({ through, all });
    stopping.current = new AbortController();
    setFailures(forGood);
    show(0);
    const send = sending(accountId, change);
    const { done, failed, left: again } = await inBatches(left.current, send, show, stopping.current.signal);
    const isNothingMade = done.length === 0 && failed.every((failure) => isRefused(failure.error));
    const gone = failed.filter(({ error: fault }) => isFinal(fault)).map(({ item }) => item);
    // A form whose new apps are all refused can be changed.
    const isNew = change === 'create' && isNothingMade && created.length === 0;
    left.current = isNew ? [] : without(again, new Set(gone));
    const made = done.map(({ item, result }) => ({ order: item.order, app: result }));
    setCreated((before) => [...before, ...made].sort((a, b) => a.order - b.order));
    setFailures([...forGood, ...failed]);
    setProgress(undefined);
    onDone();
  });
  const shown = useMemo(() => created.map(({ app }) => app), [created]);
  return {
    created: shown,
    rest: countOf(left.current),
    refused: failures.filter(({ error: fault }) => isFinal(fault)).length,
    failures,
    progress,
    busy,
    error: failures[0]?.error ?? error,
    run,
    stop: () => stopping.current?.abort(),
  };
}

const countOf = (batches: readonly Batch<Wanted>[]): number =>
  batches.reduce((sum, { items }) => sum + items.length, 0);

/** Sends a batch, and gives each app with its code, or its refusal. */
const sending =
  (accountId: string, change: 'create' | 'issue-code') =>
  async ({ items, key }: Batch<Wanted>): Promise<readonly (CreatedApp | ItemRefused)[]> => {
    const { outcomes } = await account(accountId).changeApps(
      change,
      items.map(({ asks }) => asks),
      key,
    );
    return outcomes.map(({ appId = '', enrollCode = '', enrollCodeExpiresAt = '', error }, index) => {
      if (error) return new ItemRefused(error);
      return { appId, name: items[index]?.name ?? '', status: 'pending', enrollCode, enrollCodeExpiresAt };
    });
  };
