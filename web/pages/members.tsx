import { useState } from 'preact/hooks';
import { useNew } from '../address/use-new.ts';
import { account, type Invitation, type MadeLink, type Member, type Role } from '../api/panel.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import type { PageProps } from '../shell/page-props.ts';
import { useIsOwner, useMay } from '../shell/rights.ts';
import { useSession } from '../shell/session.tsx';
import { common, roleName } from '../text/common.ts';
import { formatInstant } from '../text/format.ts';
import { members as texts } from '../text/members.ts';
import { Named } from '../ui/actor.tsx';
import { Badge, Button, Select, TextField } from '../ui/controls.tsx';
import { Confirm, Dialog } from '../ui/dialog.tsx';
import { Form, FormEnd } from '../ui/form.tsx';
import { Card, Name, Page, Time } from '../ui/page.tsx';
import { useShownOnce } from '../ui/shown-once.ts';
import { Empty, Problem, Shown } from '../ui/state.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { EndingKeys, useKeptKeys, type KeptKeys } from './kept-keys.tsx';
import { SecretText } from './apps/enrollment-lines.tsx';

/** Who may open the account, and who is invited to it. */
export function MembersPage({ accountId }: PageProps) {
  const members = useResource(`members ${accountId}`, (signal) => account(accountId).members({ signal }), {
    of: accountId,
    topics: ['members', 'users'],
  });
  const isOwner = useIsOwner(accountId);
  const may = useMay(accountId);
  const [isInviting, setInviting] = useNew('invitation');
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
      {may('listInvitations') && <Invitations key={round} accountId={accountId} />}
      {isInviting && isOwner && (
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
  const { me } = useSession();
  const [changed, setChanged] = useState<Member>();
  const [ended, setEnded] = useState<Member>();
  const { columns } = texts;
  const actions: Column<Member> = {
    name: columns.actions,
    unseen: true,
    cell: (member) =>
      member.given !== null && (
        <span class="row">
          <Button
            small
            aria-label={member.given === 'owner' ? texts.toViewerOne(member.name) : texts.toOwnerOne(member.name)}
            onClick={() => setChanged(member)}
          >
            {member.given === 'owner' ? texts.toViewer : texts.toOwner}
          </Button>
          <Button small kind="danger" aria-label={texts.endOne(member.name)} onClick={() => setEnded(member)}>
            {texts.end}
          </Button>
        </span>
      ),
  };
  return (
    <>
      <Table
        caption={texts.caption}
        rows={members}
        idOf={({ userId }) => userId}
        orderIn="sort"
        long={members.length > 60}
        keptAs="members"
        columns={[
          {
            name: columns.name,
            names: true,
            by: ({ name }) => name.toLowerCase(),
            cell: ({ userId, name, disabled }) => (
              <span class="row">
                <Name>{name}</Name> {userId === me.userId && <Badge>{texts.you}</Badge>}{' '}
                {disabled && <Badge tone="bad">{texts.disabled}</Badge>}
              </span>
            ),
          },
          { name: columns.login, by: ({ login }) => login.toLowerCase(), cell: ({ login }) => <Name>{login}</Name> },
          { name: columns.role, by: ({ role }) => role, cell: ({ role }) => <Badge>{roleName(role)}</Badge> },
          {
            name: columns.given,
            by: ({ given }) => given,
            cell: ({ given }) => (given === null ? '—' : roleName(given)),
          },
          {
            name: columns.mapped,
            by: ({ mapped }) => mapped,
            cell: ({ mapped }) => (mapped === null ? '—' : roleName(mapped)),
          },
          {
            name: columns.since,
            by: ({ since }) => since,
            cell: ({ since }) => (since === null ? '—' : <Time at={since} />),
          },
          ...(isOwner ? [actions] : []),
        ]}
      />
      {changed && (
        <ChangeRole
          accountId={accountId}
          member={changed}
          onClose={() => setChanged(undefined)}
          onChanged={onChanged}
        />
      )}
      {ended && (
        <EndMembership accountId={accountId} member={ended} onClose={() => setEnded(undefined)} onChanged={onChanged} />
      )}
    </>
  );
}

interface ChangeProps {
  readonly accountId: string;
  readonly member: Member;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function ChangeRole({ accountId, member, onClose, onChanged }: ChangeProps) {
  const { me, say } = useSession();
  const role: Role = member.given === 'owner' ? 'viewer' : 'owner';
  const isOwn = member.userId === me.userId && !me.operator;
  const kept = useKeptKeys();
  return (
    <Confirm
      title={role === 'owner' ? texts.toOwnerTitle : texts.toViewerTitle}
      action={role === 'owner' ? texts.toOwner : texts.toViewer}
      danger={role === 'viewer'}
      work={async () => {
        await account(accountId).changeMember(member.userId, role, kept.ids);
        say(texts.changed);
        onChanged();
      }}
      onClose={onClose}
    >
      <p>
        <Name>{member.name}</Name>
      </p>
      <p>{role === 'owner' ? texts.toOwnerSays : texts.toViewerSays}</p>
      {member.mapped === 'owner' && <p>{texts.staysOwner}</p>}
      {isOwn && role === 'viewer' && <p>{texts.toViewerYourself}</p>}
      {role === 'viewer' && <MemberKeys accountId={accountId} userId={member.userId} kept={kept} />}
    </Confirm>
  );
}

function EndMembership({ accountId, member, onClose, onChanged }: ChangeProps) {
  const { me, say } = useSession();
  const isOwn = member.userId === me.userId && !me.operator;
  const kept = useKeptKeys();
  return (
    <Confirm
      title={texts.endTitle}
      action={texts.end}
      work={async () => {
        await account(accountId).removeMember(member.userId, kept.ids);
        say(texts.ended);
        onChanged();
      }}
      onClose={onClose}
    >
      <p>
        <Name>{member.name}</Name>
      </p>
      <p>{member.mapped === null ? texts.endSays : texts.endGroups}</p>
      {isOwn && member.mapped === null && <p>{texts.endYourself}</p>}
      <MemberKeys accountId={accountId} userId={member.userId} kept={kept} />
    </Confirm>
  );
}

const MemberKeys = ({ accountId, userId, kept }: { accountId: string; userId: string; kept: KeptKeys }) => (
  <EndingKeys
    userId={userId}
    of={accountId}
    read={(signal) => account(accountId).memberKeys(userId, { signal })}
    kept={kept}
  />
);

function Invitations({ accountId }: { accountId: string }) {
  const { say } = useSession();
  const mayWithdraw = useMay(accountId)('withdrawInvitation');
  // An invitation that somebody accepts makes a member.
  const invitations = useResource(`invitations ${accountId}`, (signal) => account(accountId).invitations({ signal }), {
    of: accountId,
    topics: ['members'],
  });
  const { error, run } = useAction(async ({ linkId }: Invitation) => {
    await account(accountId).withdrawInvitation(linkId);
    say(texts.withdrawn);
    invitations.reload();
  });
  const { invitationColumns: columns } = texts;
  const withdrawal: Column<Invitation> = {
    name: columns.actions,
    unseen: true,
    cell: (invitation) => (
      <Button
        small
        kind="danger"
        aria-label={texts.withdrawOne(roleName(invitation.role), formatInstant(invitation.createdAt))}
        onClick={() => run(invitation)}
      >
        {texts.withdraw}
      </Button>
    ),
  };
  return (
    <Card title={texts.invitations}>
      <Problem error={error} />
      <Shown of={invitations} lines={2}>
        {({ invitations: list }) =>
          list.length === 0 ? (
            <p class="quiet">{texts.noInvitations}</p>
          ) : (
            <Table
              caption={texts.invitationsCaption}
              rows={list}
              idOf={({ linkId }) => linkId}
              orderIn="invitations"
              columns={[
                { name: columns.role, names: true, by: ({ role }) => role, cell: ({ role }) => roleName(role) },
                {
                  name: columns.note,
                  by: ({ note }) => note.toLowerCase(),
                  cell: ({ note }) => <Name>{note}</Name>,
                },
                {
                  name: columns.created,
                  by: ({ createdAt }) => createdAt,
                  cell: ({ createdAt }) => <Time at={createdAt} />,
                },
                {
                  name: columns.expires,
                  by: ({ expiresAt }) => expiresAt,
                  cell: ({ expiresAt }) => <Time at={expiresAt} />,
                },
                {
                  name: columns.by,
                  by: ({ by, byName }) => (byName ?? by).toLowerCase(),
                  cell: ({ by, byName }) => <Named of={by} name={byName} accountId={accountId} />,
                },
                ...(mayWithdraw ? [withdrawal] : []),
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
  const [note, setNote] = useState('');
  const [link, setLink] = useState<MadeLink>();
  const { busy, error, run } = useAction(async () => setLink(await account(accountId).invite(role, note.trim())));
  const shownOnce = useShownOnce(link ? [link.url] : []);
  if (link) {
    return (
      <Dialog key="made" title={dialog.made} onClose={onClose} shownOnce={shownOnce}>
        <p>{common.shownOnce}</p>
        <SecretText label={dialog.link} secret={link.url} />
        <p class="quiet small">{dialog.until(formatInstant(link.expiresAt))}</p>
        <div class="actions">
          <Button kind="primary" onClick={() => shownOnce.leave(onClose)}>
            {dialog.kept}
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog key="asked" title={dialog.title} onClose={onClose}>
      <p>{dialog.says}</p>
      <Form onSend={run}>
        <Select
          label={dialog.role}
          hint={role === 'owner' ? dialog.ownerSays : dialog.viewerSays}
          value={role}
          options={[
            ['viewer', common.viewer],
            ['owner', common.owner],
          ]}
          onValue={setRole}
        />
        <TextField
          label={dialog.note}
          hint={dialog.noteHint}
          value={note}
          onValue={setNote}
          maxLength={400}
          fault={Array.from(note.trim()).length > NOTE_CHARACTERS_MAX ? dialog.noteLong : undefined}
          autocomplete="off"
        />
        <FormEnd error={error} busy={busy} onCancel={onClose}>
          {dialog.make}
        </FormEnd>
      </Form>
    </Dialog>
  );
}

const NOTE_CHARACTERS_MAX = 200;
