import { useState } from 'preact/hooks';
import { Unreachable } from '../../api/client.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { daemons } from '../../text/daemons.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { Problem } from '../../ui/state.tsx';
import { EnrollDaemon } from './add-daemon.tsx';
import { useCodeBatches, type CodeBatches } from './code-batches.ts';
import { CreatedCodes } from './created-codes.tsx';
import { Failures, Through } from './many-outcome.tsx';
import { forgetWay, useEnrollment, type Enrollment } from './enrollment-lines.tsx';

interface CreateAppsProps {
  readonly accountId: string;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** Adds one daemon after the other. */
export function AddDaemon(props: CreateAppsProps) {
  const [round, setRound] = useState(0);
  return <CreateApps key={round} {...props} onAnother={() => setRound(round + 1)} />;
}

/** Creates one app or many, and shows their codes once. While it works it stays. */
export function CreateApps(props: CreateAppsProps & { onAnother?: () => void }) {
  const { accountId, onCreated, onAnother } = props;
  const onClose = (): void => {
    forgetWay();
    props.onClose();
  };
  const creation = useCodeBatches(accountId, 'create', onCreated);
  const enrollment = useEnrollment(accountId);
  const { created, rest, failures } = creation;
  if (created.length === 0) return <NewApps creation={creation} isOne={onAnother !== undefined} onClose={onClose} />;
  const [first] = created;
  if (first && created.length === 1 && rest === 0 && failures.length === 0) {
    const { appId, enrollCode: code, enrollCodeExpiresAt: expiresAt } = first;
    const issued = { appId, code, expiresAt, before: null };
    return <EnrollDaemon {...{ accountId, issued, enrollment, onClose, onAnother }} />;
  }
  return <NewCodes creation={creation} enrollment={enrollment} onClose={onClose} />;
}

interface NewCodesProps {
  readonly creation: CodeBatches;
  readonly enrollment: Enrollment;
  readonly onClose: () => void;
}

function NewCodes({ creation, enrollment, onClose }: NewCodesProps) {
  const { dialog } = texts;
  const { created, rest, busy } = creation;
  const shownOnce = useShownOnce(created.map(({ enrollCode }) => enrollCode));
  return (
    <Dialog
      title={dialog.created(created.length)}
      onClose={onClose}
      wide
      stays={busy || rest > 0}
      shownOnce={shownOnce}
    >
      <CreatedCodes created={created} enrollment={enrollment} />
      <Progress creation={creation} />
      <Rest creation={creation} />
      <div class="actions">
        {busy && <Button onClick={creation.stop}>{common.stop}</Button>}
        {rest > 0 && !busy && <Button onClick={() => creation.run([])}>{dialog.retry}</Button>}
        <Button kind="primary" disabled={busy} onClick={() => shownOnce.leave(onClose)}>
          {dialog.kept}
        </Button>
      </div>
    </Dialog>
  );
}

const Progress = ({ creation: { progress } }: { creation: CodeBatches }) => (
  <div role="status">{progress && <Through {...progress} />}</div>
);

/** What is left, and why. Of a lost answer it says enough: the same keys go with the next attempt. */
function Rest({ creation: { rest, refused, failures, busy, error } }: { creation: CodeBatches }) {
  if (busy) return null;
  const { dialog } = texts;
  const told = [rest > 0 ? dialog.rest(rest) : '', refused > 0 ? dialog.refused(refused) : ''].join(' ').trim();
  if (failures.length > 1) return <Failures says={told} failures={failures} />;
  return (
    <>
      {told !== '' && <p role="alert">{told}</p>}
      {!(error instanceof Unreachable) && <Problem error={error} />}
    </>
  );
}

const COUNT_MAX = 1000;

const namesOf = (pattern: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => pattern.replaceAll('{n}', String(index + 1)));
const previewOf = (names: readonly string[]): string => texts.dialog.preview(names[0] ?? '', names.at(-1) ?? '');

interface NewAppsProps {
  readonly creation: CodeBatches;
  /** There is one to create, and no number to ask for. */
  readonly isOne: boolean;
  readonly onClose: () => void;
}

function NewApps({ creation, isOne, onClose }: NewAppsProps) {
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
    <Dialog title={isOne ? daemons.add : dialog.title} onClose={onClose} stays={isFixed}>
      <Form onSend={() => run(names.map((name, order) => ({ order, name, asks: name })))}>
        <TextField
          label={dialog.name}
          hint={isOne ? daemons.nameHint : names.length > 1 ? previewOf(names) : dialog.nameHint}
          maxLength={200}
          value={pattern}
          disabled={isFixed}
          onValue={setPattern}
          autocomplete="off"
          autofocus
        />
        {!isOne && (
          <TextField
            label={dialog.count}
            hint={dialog.countHint}
            missing={isNumber ? undefined : dialog.countHint}
            type="number"
            min={1}
            max={COUNT_MAX}
            value={count}
            disabled={isFixed}
            onValue={setCount}
          />
        )}
        <Progress creation={creation} />
        <Rest creation={creation} />
        <FormEnd busy={busy} stays onCancel={onClose} onStop={number > 1 ? creation.stop : undefined}>
          {rest > 0 && !busy ? common.retry : isOne ? daemons.create : dialog.create}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
