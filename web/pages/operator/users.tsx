import { useState } from 'preact/hooks';
import { operator, type MadeLink, type User } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { me as meTexts } from '../../text/me.ts';
import { users as texts } from '../../text/operator.ts';
import { Badge, Button, Check, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Name, Page, Time } from '../../ui/page.tsx';
import { Empty, Problem, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { SecretText } from '../apps/enrollment-lines.tsx';

/** The people who use the panel. */
export function UsersPage() {
  const users = useResource('users', (signal) => operator.users({ signal }), { topics: ['users'] });
  const [isCreating, setCreating] = useState(false);
  const [managed, setManaged] = useState('');
  const shown = users.data?.users.find(({ userId }) => userId === managed);
  return (
    <Page
      title={texts.title}
      lead={texts.lead}
      actions={
        <Button kind="primary" onClick={() => setCreating(true)}>
          {texts.create}
        </Button>
      }
    >
      <Shown of={users}>
        {({ users: list }) => (
          <Card flush>
            {list.length === 0 ? <Empty title={texts.empty} /> : <UserTable users={list} onManage={setManaged} />}
          </Card>
        )}
      </Shown>
      {isCreating && <CreateUser onClose={() => setCreating(false)} onCreated={users.reload} />}
      {shown && <Manage user={shown} onClose={() => setManaged('')} onChanged={users.reload} />}
    </Page>
  );
}

function UserTable({ users, onManage }: { users: readonly User[]; onManage: (userId: string) => void }) {
  const { columns } = texts;
  const ways = ({ hasPassword, passkeys, identities }: User): string =>
    [hasPassword && texts.password, passkeys > 0 && texts.passkeys(passkeys), identities > 0 && texts.identity]
      .filter((way) => way !== false)
      .join(', ') || texts.noWay;
  return (
    <Table
      caption={texts.caption}
      rows={users}
      idOf={({ userId }) => userId}
      long={users.length > 60}
      columns={[
        {
          name: columns.name,
          names: true,
          by: ({ name }) => name.toLowerCase(),
          cell: ({ name }) => <Name>{name}</Name>,
        },
        { name: columns.login, by: ({ login }) => login, cell: ({ login }) => <Name>{login}</Name> },
        { name: columns.ways, cell: ways },
        {
          name: columns.rights,
          cell: ({ operator: isOperator, mappedOperator, disabled }) => (
            <span class="row">
              {isOperator && <Badge tone="good">{texts.operator}</Badge>}
              {mappedOperator && <Badge tone="good">{texts.byGroups}</Badge>}
              {disabled && <Badge tone="bad">{texts.disabled}</Badge>}
            </span>
          ),
        },
        { name: columns.created, by: ({ createdAt }) => createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          name: columns.actions,
          unseen: true,
          cell: ({ userId, name }) => (
            <Button small aria-label={`${texts.manage} ${name}`} onClick={() => onManage(userId)}>
              {texts.manage}
            </Button>
          ),
        },
      ]}
    />
  );
}

function CreateUser({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const { dialog } = texts;
  const [name, setName] = useState('');
  const [login, setLogin] = useState('');
  const [isOperator, setOperator] = useState(false);
  const [link, setLink] = useState<MadeLink>();
  const { busy, error, run } = useAction(async () => {
    const created = await operator.createUser({ name: name.trim(), login: login.trim(), operator: isOperator });
    setLink(created.link);
    onCreated();
  });
  if (link) {
    return (
      <Dialog title={dialog.made} onClose={onClose} stays>
        <p>
          {common.shownOnce} {dialog.linkSays}
        </p>
        <SecretText label={dialog.link} secret={link.url} />
        <div class="actions">
          <Button kind="primary" onClick={onClose}>
            {dialog.kept}
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={texts.create} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <TextField
          label={dialog.name}
          value={name}
          onValue={setName}
          maxLength={100}
          required
          autofocus
          autocomplete="off"
        />
        <TextField
          label={dialog.login}
          value={login}
          onValue={setLogin}
          maxLength={254}
          required
          autocomplete="off"
          spellcheck={false}
        />
        <Check label={dialog.operator} checked={isOperator} onValue={setOperator} />
        <Problem error={error} />
        <div class="actions">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" kind="primary" busy={busy} disabled={name.trim() === '' || login.trim() === ''}>
            {dialog.make}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Manage({ user, onClose, onChanged }: { user: User; onClose: () => void; onChanged: () => void }) {
  const { say } = useSession();
  const [link, setLink] = useState<MadeLink>();
  const change = useAction(async (patch: { disabled?: boolean; operator?: boolean }) => {
    await operator.changeUser(user.userId, patch);
    say(texts.done);
    onChanged();
  });
  const reset = useAction(async () => setLink(await operator.resetUser(user.userId)));
  return (
    <Dialog title={texts.manageTitle(user.name)} onClose={onClose} wide stays={link !== undefined}>
      <div class="row">
        <Button busy={change.busy} onClick={() => change.run({ operator: !user.operator })}>
          {user.operator ? texts.removeOperator : texts.makeOperator}
        </Button>
        <Button kind="danger" busy={change.busy} onClick={() => change.run({ disabled: !user.disabled })}>
          {user.disabled ? texts.enable : texts.disable}
        </Button>
      </div>
      <p class="quiet small">{texts.disableSays}</p>
      <Problem error={change.error} />
      {link ? (
        <SecretText label={texts.resetLink} secret={link.url} />
      ) : (
        <div class="row">
          <Button busy={reset.busy} onClick={reset.run}>
            {texts.reset}
          </Button>
        </div>
      )}
      <p class="quiet small">{texts.resetSays}</p>
      <Problem error={reset.error} />
      <UserSessions userId={user.userId} />
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          {common.close}
        </Button>
      </div>
    </Dialog>
  );
}

function UserSessions({ userId }: { userId: string }) {
  const sessions = useResource(`sessions ${userId}`, (signal) => operator.userSessions(userId, { signal }), {
    topics: ['users'],
  });
  const { error, run } = useAction(async (sessionId: string) => {
    await operator.endUserSession(userId, sessionId);
    sessions.reload();
  });
  const { columns } = meTexts;
  return (
    <>
      <h3>{texts.sessions}</h3>
      <Problem error={error} />
      <Shown of={sessions} lines={2}>
        {({ sessions: list }) =>
          list.length === 0 ? (
            <p class="quiet">{texts.noSessions}</p>
          ) : (
            <Table
              caption={texts.sessions}
              rows={list}
              idOf={({ sessionId }) => sessionId}
              columns={[
                { name: columns.browser, names: true, cell: ({ browser }) => <Name>{browser}</Name> },
                { name: columns.lastUsed, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
                {
                  name: columns.actions,
                  unseen: true,
                  cell: ({ sessionId }) => (
                    <Button small kind="danger" onClick={() => run(sessionId)}>
                      {texts.end}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Shown>
    </>
  );
}
