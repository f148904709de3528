import { useState } from 'preact/hooks';
import { operator, type MadeLink, type User } from '../../api/panel.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { formatInstant } from '../../text/format.ts';
import { users as texts } from '../../text/operator.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { Name } from '../../ui/page.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { SecretText } from '../apps/enrollment-lines.tsx';
import { EndingKeys, useKeptKeys } from '../kept-keys.tsx';
import { UserSessions } from './user-sessions.tsx';

interface ManageProps {
  readonly user: User;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** What an operator does with a user; each is said and confirmed before it happens. */
type Deed = keyof typeof texts.deeds;

/** What takes access away is confirmed by typing the user's name. */
const TAKING: ReadonlySet<Deed> = new Set(['removeOperator', 'removeRole', 'disable', 'reset', 'delete']);

/** The deeds that give a role, or take it, by the role that there is then. */
const ROLE_DEEDS = {
  makeOperator: 'operator',
  makeSupport: 'support',
  makeAuditor: 'auditor',
  removeOperator: 'none',
  removeRole: 'none',
} as const satisfies Partial<Record<Deed, User['role']>>;
const roleAfter = (deed: Deed): User['role'] | undefined =>
  deed in ROLE_DEEDS ? ROLE_DEEDS[deed as keyof typeof ROLE_DEEDS] : undefined;

/** Tells whether it ends the right by which the user may have made API keys. */
const isEndingKeys = (deed: Deed, { role }: User): boolean =>
  deed === 'disable' || deed === 'delete' || (role === 'operator' && roleAfter(deed) !== undefined);

/** The operation by which a deed is done, and the fields of its request. */
function requestOf(deed: Deed): readonly [operation: string, body?: object] {
  if (deed === 'reset') return ['resetUser'];
  if (deed === 'delete') return ['deleteUser'];
  return ['changeUser', changeOf(deed)];
}

/** One user, with what can be done. */
export function ManageUser({ user, onClose, onChanged }: ManageProps) {
  const { me } = useSession();
  const [deed, setDeed] = useState<Deed>();
  const [link, setLink] = useState<MadeLink>();
  const shownOnce = useShownOnce(link ? [link.url] : []);
  return (
    <Dialog title={texts.manageTitle(user.name)} onClose={onClose} wide shownOnce={shownOnce}>
      <p class="row">
        <Name>{user.login}</Name> <code>{user.userId}</code>
        {user.userId === me.userId && <Badge>{texts.you}</Badge>}
        {user.disabled && <Badge tone="bad">{texts.disabled}</Badge>}
      </p>
      {link ? <ResetLink link={link} /> : <Deeds user={user} isYou={user.userId === me.userId} onDeed={setDeed} />}
      <UserSessions user={user} />
      <div class="actions">
        <Button data-safest={link ? undefined : ''} kind="primary" onClick={() => shownOnce.leave(onClose)}>
          {link ? texts.dialog.kept : common.close}
        </Button>
      </div>
      {deed && (
        <ConfirmDeed
          deed={deed}
          user={user}
          onClose={() => setDeed(undefined)}
          onChanged={onChanged}
          onLink={setLink}
        />
      )}
    </Dialog>
  );
}

const ResetLink = ({ link }: { link: MadeLink }) => (
  <>
    <p>{common.shownOnce}</p>
    <SecretText label={texts.resetLink} secret={link.url} />
    <p class="quiet small">{texts.until(formatInstant(link.expiresAt))}</p>
  </>
);

function Deeds({ user, isYou, onDeed }: { user: User; isYou: boolean; onDeed: (deed: Deed) => void }) {
  const isOpen = useIsOpen();
  const given: readonly Deed[] = ['makeOperator', 'makeSupport', 'makeAuditor'];
  const taken: readonly Deed[] =
    user.role === 'none' ? [] : [user.role === 'operator' ? 'removeOperator' : 'removeRole'];
  const rights = [...given.filter((deed) => roleAfter(deed) !== user.role), ...taken];
  const access: Deed = user.disabled ? 'enable' : 'disable';
  // Nobody deletes himself.
  const all: readonly Deed[] = [...rights, access, 'reset', ...(isYou ? [] : ['delete' as const])];
  const allowed = all.filter((deed) => isOpen(...requestOf(deed)));
  return (
    <ul class="stack plain">
      {allowed.map((deed) => (
        <li key={deed} class="row between">
          <span class="quiet grow">{texts.deeds[deed].says}</span>
          <Button kind={TAKING.has(deed) ? 'danger' : undefined} onClick={() => onDeed(deed)}>
            {texts.deeds[deed].action}
          </Button>
        </li>
      ))}
      {user.mappedRole !== 'none' && <li class="quiet">{texts.mappedStays(texts.roles[user.mappedRole])}</li>}
    </ul>
  );
}

interface ConfirmDeedProps {
  readonly deed: Deed;
  readonly user: User;
  readonly onClose: () => void;
  readonly onChanged: () => void;
  readonly onLink: (link: MadeLink) => void;
}

function ConfirmDeed({ deed, user, onClose, onChanged, onLink }: ConfirmDeedProps) {
  const { me, say } = useSession();
  const { title, action, says } = texts.deeds[deed];
  const isOpen = useIsOpen();
  const kept = useKeptKeys();
  const work = async (): Promise<void> => {
    if (deed === 'reset') onLink(await operator.resetUser(user.userId));
    else if (deed === 'delete') await operator.deleteUser(user.userId, kept.ids);
    else
      await operator.changeUser(user.userId, { ...changeOf(deed), ...(kept.ids.length > 0 && { keepKeys: kept.ids }) });
    say(deed === 'reset' ? texts.resetDone : deed === 'delete' ? texts.deleteDone : texts.done);
    onChanged();
  };
  const typed = (user.login === '' ? user.name : user.login).trim();
  return (
    <Confirm
      title={title}
      action={action}
      danger={TAKING.has(deed)}
      typed={TAKING.has(deed) ? typed : undefined}
      work={work}
      onClose={onClose}
    >
      <p>
        <Name>{user.name}</Name>
      </p>
      <p>{says}</p>
      {user.role === 'operator' && deed !== 'removeOperator' && roleAfter(deed) !== undefined && (
        <p>{texts.takesOperator}</p>
      )}
      {user.userId === me.userId && TAKING.has(deed) && <p>{texts.yourself}</p>}
      {isEndingKeys(deed, user) && (
        <EndingKeys
          userId={user.userId}
          of=""
          read={(signal) => operator.userKeys(user.userId, { signal })}
          kept={kept}
          mayKeep={isOpen('changeUser', { keepKeys: [] })}
          showAccounts
        />
      )}
    </Confirm>
  );
}

function changeOf(deed: Deed): { disabled?: boolean; role?: User['role'] } {
  const role = roleAfter(deed);
  return role === undefined ? { disabled: deed === 'disable' } : { role };
}
