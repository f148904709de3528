import { useRef, useState } from 'preact/hooks';
import { newIdempotencyKey, Unreachable } from '../api/client.ts';
import { isRefused } from '../api/many.ts';
import { useNew } from '../address/use-new.ts';
import { account, type CreatedApiKey, type ListedApiKey } from '../api/panel.ts';
import { useAction } from '../hooks/use-action.ts';
import { useNow } from '../hooks/use-now.ts';
import { useResource } from '../hooks/use-resource.ts';
import type { PageProps } from '../shell/page-props.ts';
import { useIsOwner, useSession } from '../shell/session.tsx';
import { common } from '../text/common.ts';
import { keys as texts } from '../text/keys.ts';
import { Named } from '../ui/actor.tsx';
import { Badge, Button, CopyButton, Select, TextField } from '../ui/controls.tsx';
import { Confirm, Dialog } from '../ui/dialog.tsx';
import { Form, FormEnd } from '../ui/form.tsx';
import { Card, Name, Page, Time } from '../ui/page.tsx';
import { Empty, Problem, Shown } from '../ui/state.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { SecretText } from './apps/enrollment-lines.tsx';
import { isBlank } from '../../src/text/shown-name.ts';

/** The API keys of the account: created, shown once, revoked. */
export function KeysPage({ accountId }: PageProps) {
  const keys = useResource(`keys ${accountId}`, (signal) => account(accountId).keys({ signal }), {
    of: accountId,
    topics: ['keys'],
  });
  const isOwner = useIsOwner(accountId);
  const [isCreating, setCreating] = useNew('key');
  const [revoked, setRevoked] = useState<ListedApiKey>();
  const { say } = useSession();
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <Page title={texts.title} lead={texts.lead} actions={isOwner ? create : undefined}>
      <Shown of={keys}>
        {({ apiKeys }) => (
          <Card flush>
            {apiKeys.length === 0 ? (
              <Empty title={texts.empty}>
                <p class="quiet">{texts.emptyLead}</p>
                {isOwner && create}
              </Empty>
            ) : (
              <KeyTable accountId={accountId} keys={apiKeys} {...(isOwner && { onRevoke: setRevoked })} />
            )}
          </Card>
        )}
      </Shown>
      {isCreating && isOwner && (
        <CreateKey accountId={accountId} onClose={() => setCreating(false)} onCreated={keys.reload} />
      )}
      {revoked && (
        <Confirm
          title={texts.revokeTitle}
          action={texts.revoke}
          work={async () => {
            await account(accountId).revokeKey(revoked.keyId);
            say(texts.revoked);
            keys.reload();
          }}
          onClose={() => setRevoked(undefined)}
        >
          <p>
            <Name otherwise={revoked.keyId}>{revoked.name}</Name>
          </p>
          <p>{texts.revokeSays}</p>
          <p>
            {texts.usedLast} <Time at={revoked.lastUsedAt} />
          </p>
        </Confirm>
      )}
    </Page>
  );
}

const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;

interface KeyTableProps {
  readonly accountId: string;
  readonly keys: readonly ListedApiKey[];
  readonly onRevoke?: (key: ListedApiKey) => void;
}

function KeyTable({ accountId, keys, onRevoke }: KeyTableProps) {
  const now = useNow(60_000);
  const { columns } = texts;
  const expiry = ({ expiresAt }: ListedApiKey) => {
    if (expiresAt === null) return <span class="quiet">{common.never}</span>;
    const leftMs = Date.parse(expiresAt) - now;
    return (
      <span class="row">
        <Time at={expiresAt} />
        {leftMs <= 0 ? (
          <Badge tone="bad">{texts.expired}</Badge>
        ) : (
          leftMs < SOON_MS && <Badge tone="warn">{texts.soon}</Badge>
        )}
      </span>
    );
  };
  const actions: Column<ListedApiKey> = {
    name: columns.actions,
    unseen: true,
    cell: (key) => (
      <Button
        small
        kind="danger"
        aria-label={texts.revokeOne(isBlank(key.name) ? key.keyId : key.name)}
        onClick={() => onRevoke?.(key)}
      >
        {texts.revoke}
      </Button>
    ),
  };
  return (
    <Table
      caption={texts.caption}
      rows={keys}
      idOf={({ keyId }) => keyId}
      orderIn="sort"
      columns={[
        {
          name: columns.name,
          names: true,
          by: ({ name }) => name,
          cell: ({ name }) => <Name otherwise={texts.unnamed}>{name}</Name>,
        },
        { name: columns.id, cell: ({ keyId }) => <code>{keyId}</code> },
        { name: columns.created, by: ({ createdAt }) => createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          name: columns.by,
          cell: ({ createdBy, createdByName }) =>
            createdBy === undefined ? '—' : <Named of={createdBy} name={createdByName} accountId={accountId} />,
        },
        { name: columns.expires, by: ({ expiresAt }) => expiresAt ?? '~', cell: expiry },
        {
          name: columns.lastUsed,
          by: ({ lastUsedAt }) => lastUsedAt ?? '',
          cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
        },
        ...(onRevoke ? [actions] : []),
      ]}
    />
  );
}

type Expiry = keyof typeof texts.dialog.expiryOptions;

/** The instant at which the key ends; null for never, undefined where the date is none yet, or is past. */
function expiresAt(expiry: Expiry, date: string): string | null | undefined {
  if (expiry === 'never') return null;
  const at = expiry === 'date' ? new Date(`${date}T23:59:59`).getTime() : Date.now() + Number(expiry) * DAY_MS;
  return Number.isFinite(at) && at > Date.now() ? new Date(at).toISOString() : undefined;
}

interface CreateKeyProps {
  readonly accountId: string;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

function CreateKey({ accountId, onClose, onCreated }: CreateKeyProps) {
  const { dialog } = texts;
  const [name, setName] = useState('');
  const [expiry, setExpiry] = useState<Expiry>('90');
  const [date, setDate] = useState('');
  const [created, setCreated] = useState<CreatedApiKey>();
  // What was sent once is sent again: the same key with another content would be refused.
  const wanted = useRef<{ key: string; name: string; expiresAt: string | null }>(undefined);
  const ends = expiresAt(expiry, date);
  const { busy, error, run } = useAction(async () => {
    if (ends === undefined) return;
    wanted.current ??= { key: newIdempotencyKey(), name: name.trim(), expiresAt: ends };
    const { key, ...body } = wanted.current;
    try {
      setCreated(await account(accountId).createKey(body, key));
    } catch (fault) {
      if (isRefused(fault)) wanted.current = undefined;
      throw fault;
    }
    onCreated();
  });
  if (created) return <CreatedKey apiKey={created.apiKey} onClose={onClose} />;
  const isSent = wanted.current !== undefined;
  return (
    <Dialog title={dialog.title} onClose={onClose} stays={isSent}>
      <Form onSend={run}>
        <TextField
          label={dialog.name}
          hint={dialog.nameHint}
          maxLength={400}
          value={name}
          onValue={setName}
          disabled={isSent}
          autofocus
          autocomplete="off"
        />
        <Select
          label={dialog.expires}
          value={expiry}
          options={Object.entries(dialog.expiryOptions) as [Expiry, string][]}
          onValue={setExpiry}
          disabled={isSent}
        />
        {expiry === 'date' && (
          <TextField
            label={dialog.date}
            type="date"
            value={date}
            onValue={setDate}
            disabled={isSent}
            fault={date !== '' && ends === undefined ? dialog.pastDate : undefined}
          />
        )}
        {isSent && !busy && <p role="alert">{dialog.again}</p>}
        {!(error instanceof Unreachable) && <Problem error={error} />}
        <FormEnd busy={busy} disabled={ends === undefined} stays onCancel={onClose}>
          {dialog.create}
        </FormEnd>
      </Form>
    </Dialog>
  );
}

/** The key, shown once, and how a program presents it. */
function CreatedKey({ apiKey, onClose }: { apiKey: string; onClose: () => void }) {
  const { dialog } = texts;
  const shown = useRef<HTMLPreElement>(null);
  const keep = `(umask 077; printf '%s' '${apiKey}' > muster-api-key)`;
  const lines = [keep, 'MUSTER_CLIENT_API_KEY_FILE=muster-api-key muster apps list'].join('\n');
  return (
    <Dialog title={dialog.created} onClose={onClose} wide stays>
      <p>{common.shownOnce}</p>
      <SecretText label={dialog.key} secret={apiKey} />
      <h3>{dialog.use}</h3>
      <SecretText label={dialog.header} secret={`Authorization: Bearer ${apiKey}`} />
      <div class="stack tight">
        <div class="row between">
          <strong>{dialog.command}</strong>
          <CopyButton text={lines} shownIn={shown} />
        </div>
        <pre ref={shown} tabIndex={0}>
          {lines}
        </pre>
      </div>
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          {dialog.kept}
        </Button>
      </div>
    </Dialog>
  );
}
