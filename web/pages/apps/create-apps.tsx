import { useMemo, useRef, useState } from 'preact/hooks';
import { Unreachable } from '../../api/client.ts';
import { batchesOf, inBatches, isRefused, ItemRefused, type Batch } from '../../api/many.ts';
import { account, type CreatedApp } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Problem } from '../../ui/state.tsx';
import { CreatedCodes } from './created-codes.tsx';

interface CreateAppsProps {
  readonly accountId: string;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** An app to create. */
interface Wanted {
  readonly name: string;
  readonly order: number;
}

/** Creates one app or many, and shows their codes once. While it works, and while it shows codes, it stays. */
export function CreateApps({ accountId, onClose, onCreated }: CreateAppsProps) {
  const { dialog } = texts;
  const creation = useCreation(accountId, onCreated);
  const { created, rest, busy } = creation;
  if (created.length === 0) return <NewApps creation={creation} onClose={onClose} />;
  return (
    <Dialog title={dialog.created(created.length)} onClose={onClose} wide stays>
      <CreatedCodes created={created} />
      <Progress creation={creation} />
      <Rest creation={creation} />
      <div class="actions">
        {rest > 0 && (
          <Button busy={busy} onClick={() => creation.run([])}>
            {dialog.retry}
          </Button>
        )}
        <Button kind="primary" disabled={busy} onClick={onClose}>
          {dialog.kept}
        </Button>
      </div>
    </Dialog>
  );
}

interface Creation {
  readonly created: readonly CreatedApp[];
  /** How many are not created, or perhaps are with their answer lost. */
  readonly rest: number;
  readonly progress: { readonly through: number; readonly all: number } | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  /** Creates apps of these names, or those that are left of an attempt before. */
  readonly run: (names: readonly string[]) => void;
}

function useCreation(accountId: string, onCreated: () => void): Creation {
  const [created, setCreated] = useState<readonly { readonly order: number; readonly app: CreatedApp }[]>([]);
  const [progress, setProgress] = useState<Creation['progress']>();
  const [fault, setFault] = useState<unknown>();
  const left = useRef<readonly Batch<Wanted>[]>([]);
  const { busy, error, run } = useAction(async (names: readonly string[]) => {
    if (left.current.length === 0) left.current = batchesOf(names.map((name, order) => ({ name, order })));
    const all = countOf(left.current);
    const show = (through: number): void => setProgress({ through, all });
    setFault(undefined);
    show(0);
    const { done, failed, left: again } = await inBatches(left.current, sending(accountId), show);
    const isNothingMade = done.length === 0 && failed.every((failure) => isRefused(failure.error));
    left.current = isNothingMade && created.length === 0 ? [] : again;
    const made = done.map(({ item, result }) => ({ order: item.order, app: result }));
    setCreated((before) => [...before, ...made].sort((a, b) => a.order - b.order));
    setFault(failed[0]?.error);
    setProgress(undefined);
    onCreated();
  });
  const shown = useMemo(() => created.map(({ app }) => app), [created]);
  return { created: shown, rest: countOf(left.current), progress, busy, error: fault ?? error, run };
}

const countOf = (batches: readonly Batch<Wanted>[]): number =>
  batches.reduce((sum, { items }) => sum + items.length, 0);

/** Sends a batch, and gives each app with its code, or its refusal. */
const sending =
  (accountId: string) =>
  async ({ items, key }: Batch<Wanted>): Promise<readonly (CreatedApp | ItemRefused)[]> => {
    const { outcomes } = await account(accountId).changeApps(
      'create',
      items.map(({ name }) => name),
      key,
    );
    return outcomes.map(({ appId = '', enrollCode = '', enrollCodeExpiresAt = '', error }, index) => {
      if (error) return new ItemRefused(error);
      return { appId, name: items[index]?.name ?? '', status: 'pending', enrollCode, enrollCodeExpiresAt };
    });
  };

const Progress = ({ creation: { progress } }: { creation: Creation }) => (
  <p role="status">{progress && texts.dialog.creating(progress.through, progress.all)}</p>
);

/** What is left, and why. Of a lost answer it says enough: the same keys go with the next attempt. */
function Rest({ creation: { rest, busy, error } }: { creation: Creation }) {
  if (busy) return null;
  return (
    <>
      {rest > 0 && <p role="alert">{texts.dialog.rest(rest)}</p>}
      {!(error instanceof Unreachable) && <Problem error={error} />}
    </>
  );
}

const COUNT_MAX = 1000;

const namesOf = (pattern: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => pattern.replaceAll('{n}', String(index + 1)));

function NewApps({ creation, onClose }: { creation: Creation; onClose: () => void }) {
  const { dialog } = texts;
  const { rest, busy, run } = creation;
  const [count, setCount] = useState('1');
  const [pattern, setPattern] = useState('');
  const number = Number(count);
  const isNumber = Number.isInteger(number) && number >= 1 && number <= COUNT_MAX;
  const names = isNumber ? namesOf(pattern.trim(), number) : [];
  // An attempt whose answer was lost is repeated as it was.
  const isFixed = busy || rest > 0;
  return (
    <Dialog title={dialog.title} onClose={onClose} stays={isFixed}>
      <Form ready={isNumber} onSend={() => run(names)}>
        <TextField
          label={dialog.name}
          hint={names.length > 1 ? dialog.preview(names[0] ?? '', names.at(-1) ?? '') : dialog.nameHint}
          maxLength={200}
          value={pattern}
          disabled={isFixed}
          onValue={setPattern}
          autocomplete="off"
          autofocus
        />
        <TextField
          label={dialog.count}
          hint={dialog.countHint}
          type="number"
          min={1}
          max={COUNT_MAX}
          value={count}
          disabled={isFixed}
          onValue={setCount}
        />
        <Progress creation={creation} />
        <Rest creation={creation} />
        <FormEnd busy={busy} disabled={!isNumber} stays onCancel={onClose}>
          {rest > 0 && !busy ? common.retry : dialog.create}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
