import { useState } from 'preact/hooks';
import { account, type Invitation, type MadeLink, type Member, type Role } from '../api/panel.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import type { PageProps } from '../shell/pages.tsx';
import { useIsOwner, useSession } from '../shell/session.tsx';
import { common } from '../text/common.ts';
import { members as texts } from '../text/members.ts';
import { Actor } from '../ui/actor.tsx';
import { Badge, Button, Select } from '../ui/controls.tsx';
import { Confirm, Dialog } from '../ui/dialog.tsx';
import { Card, Name, Page, Time } from '../ui/page.tsx';
import { Empty, Problem, Shown } from '../ui/state.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { SecretText } from './apps/enrollment-lines.tsx';

const roleName = (role: Role): string => (role === 'owner' ? common.owner : common.viewer);

/** Who may open the account, and who is invited to it. */
export function MembersPage({ accountId }: PageProps) {
  const members = useResource(`members ${accountId}`, (signal) => account(accountId).members({ signal }), {
    of: accountId,
    topics: ['members', 'users'],
  });
  const isOwner = useIsOwner(accountId);
  const [isInviting, setInviting] = useState(false);
  const [round, setRound] = useState(0);
  return (
    <Page
      title={texts.title}
      lead={texts.lead}
      actions={
        isOwner ? (
          <Button kind="primary" onClick={() => setInviting(true)}>
            {texts.invite}
          </Button>
        ) : undefined
      }
    >
      <Shown of={members}>
        {({ members: list }) => (
          <Card flush>
            {list.length === 0 ? (
              <Empty title={texts.none} />
            ) : (
              <MemberTable accountId={accountId} members={list} isOwner={isOwner} onChanged={members.reload} />
            )}
          </Card>
        )}
      </Shown>
      {isOwner && <Invitations key={round} accountId={accountId} />}
      {isInviting && (
        <Invite
          accountId={accountId}
          onClose={() => {
            setInviting(false);
            setRound(round + 1);
          }}
        />
      )}
    </Page>
  );
}

interface MemberTableProps {
  readonly accountId: string;
  readonly members: readonly Member[];
  readonly isOwner: boolean;
  readonly onChanged: () => void;
}

function MemberTable({ accountId, members, isOwner, onChanged }: MemberTableProps) {
  const { say } = useSession();
  const [ended, setEnded] = useState<Member>();
  const { error, run } = useAction(async ({ userId }: Member, role: Role) => {
    await account(accountId).changeMember(userId, role);
    say(texts.changed);
    onChanged();
  });
  const { columns } = texts;
  const givenBy = ({ given, mapped }: Member): string =>
    given !== null && mapped !== null ? texts.both : given !== null ? texts.byInvitation : texts.byGroups;
  const actions: Column<Member> = {
    name: columns.actions,
    unseen: true,
    cell: (member) =>
      member.given !== null && (
        <span class="row">
          <Button small onClick={() => run(member, member.given === 'owner' ? 'viewer' : 'owner')}>
            {member.given === 'owner' ? texts.toViewer : texts.toOwner}
          </Button>
          <Button small kind="danger" onClick={() => setEnded(member)}>
            {texts.end}
          </Button>
        </span>
      ),
  };
  return (
    <>
      <Problem error={error} />
      <Table
        caption={texts.caption}
        rows={members}
        idOf={({ userId }) => userId}
        columns={[
          {
            name: columns.name,
            names: true,
            by: ({ name }) => name.toLowerCase(),
            cell: ({ name, disabled }) => (
              <span class="row">
                <Name>{name}</Name> {disabled && <Badge tone="bad">{texts.disabled}</Badge>}
              </span>
            ),
          },
          { name: columns.login, cell: ({ login }) => <Name>{login}</Name> },
          { name: columns.role, by: ({ role }) => role, cell: ({ role }) => <Badge>{roleName(role)}</Badge> },
          { name: columns.by, cell: givenBy },
          { name: columns.since, cell: ({ since }) => (since === null ? '—' : <Time at={since} />) },
          ...(isOwner ? [actions] : []),
        ]}
      />
      {ended && (
        <Confirm
          title={texts.endTitle}
          action={texts.end}
          work={async () => {
            await account(accountId).removeMember(ended.userId);
            say(texts.ended);
            onChanged();
          }}
          onClose={() => setEnded(undefined)}
        >
          <p>{texts.endSays(ended.name)}</p>
          {ended.mapped !== null && <p>{texts.endGroups}</p>}
        </Confirm>
      )}
    </>
  );
}

function Invitations({ accountId }: { accountId: string }) {
  const { say } = useSession();
  const invitations = useResource(`invitations ${accountId}`, (signal) => account(accountId).invitations({ signal }));
  const { error, run } = useAction(async ({ linkId }: Invitation) => {
    await account(accountId).withdrawInvitation(linkId);
    say(texts.withdrawn);
    invitations.reload();
  });
  const { invitationColumns: columns } = texts;
  return (
    <Card title={texts.invitations}>
      <Problem error={error} />
      <Shown of={invitations} lines={2}>
        {({ invitations: list }) =>
          list.length === 0 ? (
            <p class="quiet">{texts.noInvitations}</p>
          ) : (
            <Table
              caption={texts.invitations}
              rows={list}
              idOf={({ linkId }) => linkId}
              columns={[
                { name: columns.role, names: true, cell: ({ role }) => roleName(role) },
                { name: columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
                { name: columns.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
                { name: columns.by, cell: ({ by }) => <Actor of={by} /> },
                {
                  name: columns.actions,
                  unseen: true,
                  cell: (invitation) => (
                    <Button small kind="danger" onClick={() => run(invitation)}>
                      {texts.withdraw}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Shown>
    </Card>
  );
}

function Invite({ accountId, onClose }: { accountId: string; onClose: () => void }) {
  const { dialog } = texts;
  const [role, setRole] = useState<Role>('viewer');
  const [link, setLink] = useState<MadeLink>();
  const { busy, error, run } = useAction(async () => setLink(await account(accountId).invite(role)));
  return (
    <Dialog title={link ? dialog.made : dialog.title} onClose={onClose} stays={link !== undefined}>
      <p>{link ? common.shownOnce : dialog.says}</p>
      {link ? (
        <SecretText label={dialog.link} secret={link.url} />
      ) : (
        <Select
          label={dialog.role}
          value={role}
          options={[
            ['viewer', common.viewer],
            ['owner', common.owner],
          ]}
          onValue={setRole}
        />
      )}
      <Problem error={error} />
      <div class="actions">
        {!link && <Button onClick={onClose}>{common.cancel}</Button>}
        {link ? (
          <Button kind="primary" onClick={onClose}>
            {dialog.kept}
          </Button>
        ) : (
          <Button kind="primary" busy={busy} onClick={run}>
            {dialog.make}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
