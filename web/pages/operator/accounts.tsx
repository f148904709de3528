import { useRef, useState } from 'preact/hooks';
import { anyText, useQuery } from '../../address/use-query.ts';
import { ApiError, newIdempotencyKey } from '../../api/client.ts';
import { operator, type Account } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useSettled } from '../../hooks/use-settled.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfAccount, pathOfApp, pathOfOperator } from '../../shell/router.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { accounts as texts } from '../../text/operator.ts';
import { Badge, Button, Select, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Card, Name, Page, Time } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Pager, usePlaces } from './pager.tsx';
import { needed } from '../../ui/tried.ts';

const PAGE = 200;
const SEARCH = { q: anyText(200) };

/** All accounts, page by page, and a search over them. */
export function AccountsPage() {
  const {
    state: { q: text },
    change,
  } = useQuery(SEARCH);
  const [isCreating, setCreating] = useState(false);
  const mayCreate = useIsOpen()('createAccount');
  const places = usePlaces();
  const { place } = places;
  const accounts = useResource(
    `accounts ${place ?? ''}`,
    (signal) => operator.accounts({ limit: PAGE, ...(place !== undefined && { after: place }) }, { signal }),
    { topics: ['account'] },
  );
  return (
    <Page
      title={texts.title}
      lead={texts.lead}
      actions={
        mayCreate ? (
          <Button kind="primary" onClick={() => setCreating(true)}>
            {texts.create}
          </Button>
        ) : undefined
      }
    >
      <div class="toolbar" role="search">
        <TextField
          label={texts.search}
          hint={texts.searchHint}
          type="search"
          grow
          value={text}
          onValue={(q) => change({ q })}
          maxLength={200}
        />
      </div>
      {text.trim() !== '' && <Search text={text.trim()} />}
      <Shown of={accounts}>
        {({ accounts: list, next }) => (
          <Card flush>
            {list.length === 0 && place === undefined ? (
              <Empty title={texts.empty}>
                <p class="quiet">{texts.emptySays}</p>
              </Empty>
            ) : (
              <AccountTable accounts={list} isWhole={place === undefined && next === undefined} />
            )}
            <Pager places={places} next={next} />
          </Card>
        )}
      </Shown>
      {isCreating && mayCreate && <CreateAccount onClose={() => setCreating(false)} onCreated={accounts.reload} />}
    </Page>
  );
}

function AccountTable({ accounts, isWhole }: { accounts: readonly Account[]; isWhole: boolean }) {
  const { columns } = texts;
  return (
    <Table
      caption={texts.caption}
      rows={accounts}
      idOf={({ accountId }) => accountId}
      orderIn="sort"
      isPart={!isWhole}
      long={accounts.length > 60}
      keptAs="accounts"
      columns={[
        {
          name: columns.name,
          names: true,
          by: ({ name }) => name.toLowerCase(),
          cell: ({ accountId, name }) => (
            <Link to={pathOfAccount(accountId)}>
              <Name>{name}</Name>
            </Link>
          ),
        },
        { name: columns.id, by: ({ accountId }) => accountId, cell: ({ accountId }) => <code>{accountId}</code> },
        {
          name: columns.entitlement,
          by: ({ entitlement }) => entitlement,
          cell: ({ entitlement }) => <Badge>{entitlement}</Badge>,
        },
        {
          name: columns.state,
          by: ({ disabled, managedBy }) => Number(disabled) * 2 + Number(managedBy !== undefined),
          cell: ({ disabled, managedBy }) => (
            <span class="row">
              <Badge tone={disabled ? 'bad' : 'good'}>{disabled ? texts.disabled : texts.active}</Badge>
              {managedBy !== undefined && <Badge>{texts.managed}</Badge>}
            </span>
          ),
        },
        { name: columns.created, by: ({ createdAt }) => createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          name: columns.actions,
          unseen: true,
          cell: ({ accountId, name }) => (
            <Link to={pathOfAccount(accountId, 'settings')} aria-label={texts.settingsOf(name)}>
              {texts.settings}
            </Link>
          ),
        },
      ]}
    />
  );
}

/** Asks a moment after the last letter. */
function Search({ text }: { text: string }) {
  const asked = useSettled(text);
  const found = useResource(`find ${asked}`, (signal) => operator.find(asked, { signal }));
  return (
    <Card title={texts.found}>
      <Shown of={found} lines={2}>
        {({ accounts, app, user }) => (
          <div role="status">
            {accounts.length === 0 && app === null && user === null && <p class="quiet">{texts.nothing}</p>}
            <ul>
              {app && (
                <li>
                  {texts.app}{' '}
                  <Link to={pathOfApp(app.accountId, app.appId)}>
                    <Name otherwise={app.appId}>{app.name ?? ''}</Name>
                  </Link>
                </li>
              )}
              {user && (
                <li>
                  {texts.user}{' '}
                  <Link to={`${pathOfOperator('users')}?user=${user.userId}`}>
                    <Name otherwise={user.userId}>{user.name ?? ''}</Name>
                  </Link>
                </li>
              )}
              {accounts.map(({ accountId, name }) => (
                <li key={accountId}>
                  <Link to={pathOfAccount(accountId)}>
                    <Name>{name}</Name>
                  </Link>{' '}
                  <code>{accountId}</code>
                </li>
              ))}
            </ul>
          </div>
        )}
      </Shown>
    </Card>
  );
}

function CreateAccount({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const { say, go } = useSession();
  const [name, setName] = useState('');
  const [entitlement, setEntitlement] = useState<Account['entitlement']>('standard');
  const wanted = useRef<{ name: string; entitlement: Account['entitlement']; key: string }>(undefined);
  const { busy, error, run } = useAction(async () => {
    wanted.current ??= { name: name.trim(), entitlement, key: newIdempotencyKey() };
    const { key, ...body } = wanted.current;
    const { accountId } = await operator.createAccount(body, key).catch((fault: unknown) => {
      // What is refused as it is made nothing: it can be changed, and is another create then.
      if (fault instanceof ApiError && fault.status === 400) wanted.current = undefined;
      throw fault;
    });
    say(texts.created);
    onCreated();
    onClose();
    go(pathOfAccount(accountId), { isDone: true });
  });
  const isSent = wanted.current !== undefined;
  return (
    <Dialog title={texts.create} onClose={onClose}>
      <Form onSend={run}>
        <TextField
          label={texts.name}
          hint={texts.nameHint}
          value={name}
          onValue={setName}
          missing={needed(name)}
          maxLength={400}
          required
          autofocus
          disabled={isSent}
          autocomplete="off"
        />
        <Select
          label={texts.entitlement}
          value={entitlement}
          options={Object.entries(texts.entitlements) as [Account['entitlement'], string][]}
          onValue={setEntitlement}
          disabled={isSent}
        />
        <FormEnd error={error} busy={busy} onCancel={onClose}>
          {texts.create}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
