import { useState } from 'preact/hooks';
import { anyText, useQuery } from '../../address/use-query.ts';
import { operator, type ListedUser, type MadeLink, type User } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { formatInstant } from '../../text/format.ts';
import { users as texts } from '../../text/operator.ts';
import { Badge, Button, Select, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Card, Name, Page, Time } from '../../ui/page.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { Empty, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { SecretText } from '../apps/enrollment-lines.tsx';
import { ManageUser } from './manage-user.tsx';
import { needed } from '../../ui/tried.ts';

/** The roles that may be given, the least first. */
const GIVEN_ROLES: readonly User['role'][] = ['none', 'auditor', 'support', 'operator'];

/** `user` is the one whose dialog is open. */
const SEARCH = { q: anyText(254), user: anyText(40) };

/** The people who use the panel. */
export function UsersPage() {
  const users = useResource('users', (signal) => operator.users({ signal }), { topics: ['users'] });
  const [isCreating, setCreating] = useState(false);
  const mayCreate = useIsOpen()('createUser');
  const {
    state: { q: text, user: managed },
    change,
  } = useQuery(SEARCH);
  const setManaged = (user: string): void => change({ user });
  const shown = users.data?.users.find(({ userId }) => userId === managed);
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
      <Shown of={users}>
        {({ users: list }) => {
          const found = list.filter((user) => isFound(user, text));
          return (
            <>
              <div class="toolbar" role="search">
                <TextField
                  label={texts.search}
                  type="search"
                  grow
                  value={text}
                  onValue={(q) => change({ q })}
                  maxLength={254}
                />
                <span role="status">{texts.count(found.length, list.length)}</span>
              </div>
              <Card flush>
                {found.length === 0 ? (
                  <Empty title={list.length === 0 ? texts.empty : texts.nothing} />
                ) : (
                  <UserTable users={found} onManage={setManaged} />
                )}
              </Card>
            </>
          );
        }}
      </Shown>
      {isCreating && mayCreate && <CreateUser onClose={() => setCreating(false)} onCreated={users.reload} />}
      {shown && <ManageUser user={shown} onClose={() => setManaged('')} onChanged={users.reload} />}
    </Page>
  );
}

/** Whether the user is one whom the text tells of: by a part of the name or the login, or by the id. */
function isFound({ userId, name, login }: User, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return userId === wanted || name.toLowerCase().includes(wanted) || login.toLowerCase().includes(wanted);
}

/** The order of credentials: none comes first, then what was never used, then the longest unused. */
const heldBy = (count: number, at: string | null): string => (count === 0 ? '' : (at ?? ' '));

/** The number of credentials of a kind that a user has, and the last use of one. */
function Held({ count, at }: { count: number; at: string | null }) {
  // A replica of the version before answers without a count.
  if (!(count > 0)) return <span class="quiet">{texts.none}</span>;
  if (at === null) return <span>{texts.unused(count)}</span>;
  return (
    <span>
      {texts.used(count)} <Time at={at} />
    </span>
  );
}

function UserTable({ users, onManage }: { users: readonly ListedUser[]; onManage: (userId: string) => void }) {
  const { columns } = texts;
  const { me } = useSession();
  const ways = ({ hasPassword, passkeys, identities }: User): string =>
    [hasPassword && texts.password, passkeys > 0 && texts.passkeys(passkeys), identities > 0 && texts.identity]
      .filter((way) => way !== false)
      .join(', ') || texts.noWay;
  return (
    <Table
      caption={texts.caption}
      rows={users}
      idOf={({ userId }) => userId}
      orderIn="sort"
      long={users.length > 60}
      keptAs="users"
      columns={[
        {
          name: columns.name,
          names: true,
          by: ({ name }) => name.toLowerCase(),
          cell: ({ userId, name }) => (
            <span class="row">
              <Name>{name}</Name> {userId === me.userId && <Badge>{texts.you}</Badge>}
            </span>
          ),
        },
        { name: columns.login, by: ({ login }) => login.toLowerCase(), cell: ({ login }) => <Name>{login}</Name> },
        { name: columns.ways, by: ways, cell: ways },
        {
          name: columns.rights,
          by: ({ role, mappedRole, disabled }) =>
            Number(disabled) * 100 - GIVEN_ROLES.indexOf(role) * 10 - GIVEN_ROLES.indexOf(mappedRole),
          cell: ({ role, mappedRole, disabled, providerRefusedAt }) => (
            <span class="row">
              {role !== 'none' && <Badge tone="good">{texts.roles[role]}</Badge>}
              {mappedRole !== 'none' && <Badge tone="good">{texts.byGroups(texts.roles[mappedRole])}</Badge>}
              {disabled && <Badge tone="bad">{texts.disabled}</Badge>}
              {/* A replica of the version before answers without it. */}
              {typeof providerRefusedAt === 'string' && (
                <>
                  <Badge tone="bad">{texts.refused}</Badge> <Time at={providerRefusedAt} />
                </>
              )}
            </span>
          ),
        },
        {
          name: columns.keys,
          by: ({ apiKeys, apiKeysLastUsedAt }) => heldBy(apiKeys, apiKeysLastUsedAt),
          cell: ({ apiKeys, apiKeysLastUsedAt }) => <Held count={apiKeys} at={apiKeysLastUsedAt} />,
        },
        {
          name: columns.tokens,
          by: ({ accessTokens, accessTokensLastUsedAt }) => heldBy(accessTokens, accessTokensLastUsedAt),
          cell: ({ accessTokens, accessTokensLastUsedAt }) => <Held count={accessTokens} at={accessTokensLastUsedAt} />,
        },
        {
          name: columns.sessions,
          by: ({ sessions, sessionsLastUsedAt }) => heldBy(sessions, sessionsLastUsedAt),
          cell: ({ sessions, sessionsLastUsedAt }) => <Held count={sessions} at={sessionsLastUsedAt} />,
        },
        {
          name: columns.created,
          atFirst: false,
          by: ({ createdAt }) => createdAt,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        {
          name: columns.actions,
          unseen: true,
          cell: ({ userId, name }) => (
            <Button small aria-label={texts.manageOne(name)} onClick={() => onManage(userId)}>
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
  const [role, setRole] = useState<User['role']>('none');
  const [link, setLink] = useState<MadeLink>();
  const { busy, error, run } = useAction(async () => {
    const created = await operator.createUser({ name: name.trim(), login: login.trim(), role });
    setLink(created.link);
    onCreated();
  });
  const shownOnce = useShownOnce(link ? [link.url] : []);
  if (link) {
    return (
      <Dialog key="made" title={dialog.made} onClose={onClose} shownOnce={shownOnce}>
        <p>
          {common.shownOnce} {dialog.linkSays}
        </p>
        <SecretText label={dialog.link} secret={link.url} />
        <p class="quiet small">{texts.until(formatInstant(link.expiresAt))}</p>
        <div class="actions">
          <Button kind="primary" onClick={() => shownOnce.leave(onClose)}>
            {dialog.kept}
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog key="asked" title={texts.create} onClose={onClose}>
      <Form onSend={run}>
        <TextField
          label={dialog.name}
          hint={dialog.nameHint}
          value={name}
          onValue={setName}
          missing={needed(name)}
          maxLength={200}
          required
          autofocus
          autocomplete="off"
        />
        <TextField
          label={dialog.login}
          hint={dialog.loginHint}
          value={login}
          onValue={setLogin}
          missing={needed(login)}
          maxLength={254}
          required
          autocomplete="off"
          spellcheck={false}
        />
        <Select
          label={dialog.role}
          hint={texts.roleSays[role]}
          value={role}
          options={GIVEN_ROLES.map((one) => [one, texts.roles[one]] as const)}
          onValue={setRole}
        />
        <FormEnd error={error} busy={busy} onCancel={onClose}>
          {dialog.make}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
