import { useEffect, useId, useState } from 'preact/hooks';
import { ApiError } from '../../api/client.ts';
import { account, type Configuration } from '../../api/panel.ts';
import { pastedHeaders } from '../../../src/domain/otel-config/pasted-headers.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { configuration as texts } from '../../text/configuration.ts';
import { Button, Check, Select, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';
import { Problem } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import {
  changedBetween,
  changeOf,
  differencesOf,
  draftOf,
  faultsOf,
  isChangedBy,
  isHeaderMoved,
  rebased,
  type Difference,
  type Draft,
} from './draft.ts';
import { changed, needed } from '../../ui/tried.ts';

interface FormProps {
  readonly accountId: string;
  readonly stored: Configuration;
  readonly isOwner: boolean;
  readonly onStored: () => void;
}

/** The form: it judges while one types, and asks before it saves. */
export function ConfigurationForm({ accountId, stored, isOwner, onStored }: FormProps) {
  const [base, setBase] = useState(stored);
  const [draft, setDraft] = useState(() => draftOf(stored));
  const [asked, setAsked] = useState<Asked>();
  // What the form began with, where somebody else has stored something since.
  const [since, setSince] = useState<Configuration>();
  const differences = differencesOf(draft, base);
  const isTouched = isChangedBy(draft, base);
  const faults = faultsOf(draft);
  const startFrom = (now: Configuration): void => {
    setDraft(draftOf(now));
    setSince(undefined);
  };
  useEffect(() => {
    if (stored.tag === base.tag) return;
    // What somebody else stores is shown at once where nothing is typed, and beside it where something is. What is
    // stored as it is typed is one's own change, whose answer comes later or was lost.
    const ours = rebased(draft, base, stored);
    if (isTouched && isChangedBy(ours, stored)) {
      setSince(since ?? base);
      setDraft(ours);
    } else startFrom(stored);
    setBase(stored);
  }, [stored.tag]);
  const set = (part: Partial<Draft>): void => setDraft({ ...draft, ...part });
  return (
    <Form unsaved={isTouched} onSend={() => setAsked({ draft, base, differences })}>
      {since && <ChangedMeanwhile others={changedBetween(since, base)} />}
      <Fields
        draft={draft}
        set={set}
        faults={faults}
        stored={base}
        isOwner={isOwner}
        isChanged={differences.length > 0}
      />
      {isOwner && (
        <div class="row between">
          <span class="quiet">{isTouched ? texts.unsaved : texts.nothing}</span>
          <span class="row">
            {isTouched && (
              <Button kind="quiet" onClick={() => startFrom(base)}>
                {texts.discard}
              </Button>
            )}
            <Button type="submit" kind="primary">
              {texts.review}
            </Button>
          </span>
        </div>
      )}
      {asked && (
        <SaveDialog
          accountId={accountId}
          asked={asked}
          devices={stored.devices}
          onClose={() => setAsked(undefined)}
          onChangedMeanwhile={onStored}
          onSaved={(now) => {
            setBase(now);
            startFrom(now);
            onStored();
          }}
        />
      )}
    </Form>
  );
}

/** The change that the dialog asks about: another that arrives meanwhile is not slipped under it. */
interface Asked {
  readonly draft: Draft;
  readonly base: Configuration;
  readonly differences: readonly Difference[];
}

const ChangedMeanwhile = ({ others }: { others: readonly Difference[] }) => (
  <div class="note warn" role="alert">
    <div class="grow">
      <p>{texts.meanwhile}</p>
      {others.length === 0 ? <p>{texts.meanwhileUnseen}</p> : <Differences rows={others} />}
    </div>
  </div>
);

const Differences = ({ rows }: { rows: readonly Difference[] }) => (
  <Table
    caption={texts.dialog.changes}
    rows={rows}
    idOf={({ what }) => what}
    columns={[
      { name: texts.dialog.what, names: true, cell: ({ what }) => what },
      { name: texts.dialog.before, cell: ({ before }) => <bdi>{before}</bdi> },
      { name: texts.dialog.after, cell: ({ after }) => <bdi>{after}</bdi> },
    ]}
  />
);

interface FieldsProps {
  readonly draft: Draft;
  readonly set: (part: Partial<Draft>) => void;
  readonly faults: ReturnType<typeof faultsOf>;
  readonly stored: Configuration;
  readonly isOwner: boolean;
  readonly isChanged: boolean;
}

function Fields({ draft, set, faults, stored, isOwner, isChanged }: FieldsProps) {
  return (
    <>
      <Check
        label={texts.enabled}
        checked={draft.enabled}
        disabled={!isOwner}
        onValue={(enabled) => set({ enabled })}
      />
      <TextField
        label={texts.endpoint}
        hint={texts.endpointHint}
        fault={faults.endpoint}
        missing={changed(isChanged)}
        type="text"
        inputMode="url"
        spellcheck={false}
        autocomplete="off"
        disabled={!isOwner}
        value={draft.endpoint}
        onValue={(endpoint) => set({ endpoint: endpoint.trim() })}
      />
      {isOwner ? (
        <HeaderField draft={draft} set={set} fault={faults.header} isStored={stored.authHeaderSet} />
      ) : (
        <p>{stored.authHeaderSet ? texts.headerSet : texts.headerUnset}</p>
      )}
      <Select
        label={texts.evidence}
        hint={texts.evidenceHint}
        value={draft.evidenceLevel}
        disabled={!isOwner}
        options={Object.entries(texts.evidenceOptions) as [Draft['evidenceLevel'], string][]}
        onValue={(evidenceLevel) => set({ evidenceLevel })}
      />
    </>
  );
}

interface HeaderFieldProps {
  readonly draft: Draft;
  readonly set: (part: Partial<Draft>) => void;
  readonly fault: string | undefined;
  readonly isStored: boolean;
}

/** What is stored is never shown: it is kept, replaced or deleted. */
function HeaderField({ draft, set, fault, isStored }: HeaderFieldProps) {
  const [isShown, setShown] = useState(false);
  const id = useId();
  const choices = [
    ['keep', isStored ? texts.headerKeep : texts.headerNone],
    ['replace', texts.headerReplace],
    ...(isStored ? ([['remove', texts.headerRemove]] as const) : []),
  ] as const;
  return (
    <fieldset>
      <legend>{texts.header}</legend>
      <span class="quiet small">{isStored ? texts.headerSet : texts.headerUnset}</span>
      {choices.map(([value, label]) => (
        <div class="check" key={value}>
          <input
            type="radio"
            id={`${id}-${value}`}
            name={id}
            checked={draft.header === value}
            onChange={() => set({ header: value, headerValue: '' })}
          />
          <label for={`${id}-${value}`}>{label}</label>
        </div>
      ))}
      {draft.header === 'replace' && (
        <>
          <TextField
            label={texts.headerValue}
            hint={texts.headerHint}
            fault={fault === '' ? undefined : fault}
            missing={needed(draft.headerValue)}
            type={isShown ? 'text' : 'password'}
            autocomplete="off"
            spellcheck={false}
            value={draft.headerValue}
            onValue={(headerValue) => set({ headerValue })}
          />
          <Check label={texts.show} checked={isShown} onValue={setShown} />
          <PastedHeader value={draft.headerValue} onDecoded={(headerValue) => set({ headerValue })} />
        </>
      )}
    </fieldset>
  );
}

interface PastedHeaderProps {
  readonly value: string;
  readonly onDecoded: (value: string) => void;
}

/** A header that was copied in the form of the variable: the collector would get it as it stands. */
function PastedHeader({ value, onDecoded }: PastedHeaderProps) {
  const pasted = pastedHeaders(value);
  if (!pasted) return null;
  const { names, decoded } = pasted;
  return (
    <div class="note warn" role="status">
      <p class="grow">{decoded === undefined ? texts.severalPasted(names.length) : texts.pasted}</p>
      {decoded !== undefined && <Button onClick={() => onDecoded(decoded)}>{texts.useDecoded}</Button>}
    </div>
  );
}

interface SaveDialogProps {
  readonly accountId: string;
  readonly asked: Asked;
  /** How many daemons it concerns. */
  readonly devices: number;
  readonly onClose: () => void;
  readonly onSaved: (now: Configuration) => void;
  readonly onChangedMeanwhile: () => void;
}

function SaveDialog({ accountId, asked, devices, onClose, onSaved, onChangedMeanwhile }: SaveDialogProps) {
  const { draft, base, differences } = asked;
  const { say } = useSession();
  const { dialog } = texts;
  const { busy, error, run } = useAction(async () => {
    try {
      const now = await account(accountId).storeConfiguration(changeOf(draft, base));
      say(texts.saved);
      onSaved(now);
      onClose();
    } catch (fault) {
      if (!(fault instanceof ApiError && fault.code === 'changed_meanwhile')) throw fault;
      onChangedMeanwhile();
      onClose();
    }
  });
  return (
    <Dialog title={dialog.title} onClose={onClose} wide>
      <Differences rows={differences} />
      <p>{dialog.devices(devices)}</p>
      {isHeaderMoved(draft, base) && <p class="note warn">{dialog.headerMoves}</p>}
      <Problem error={error} />
      <div class="actions">
        <Button data-safest onClick={onClose}>
          {common.cancel}
        </Button>
        <Button kind="primary" busy={busy} onClick={run}>
          {dialog.save}
        </Button>
      </div>
    </Dialog>
  );
}
