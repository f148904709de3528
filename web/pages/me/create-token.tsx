import { useState } from 'preact/hooks';
import { me as api, type MadeAccessToken } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { accessTokens as texts } from '../../text/access-tokens.ts';
import { common } from '../../text/common.ts';
import { Select, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Problem } from '../../ui/state.tsx';
import { needed } from '../../ui/tried.ts';
import { expiresAt, ExpiryFields, type ExpiryDraft } from '../keys/expiry-fields.tsx';
import { ShownSecret } from '../keys/shown-secret.tsx';
import { isolated } from '../../../src/text/shown-name.ts';

type Role = MadeAccessToken['role'];

interface CreateTokenProps {
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** A token of the user for one account, with no greater role than the user has there. */
export function CreateToken({ onClose, onCreated }: CreateTokenProps) {
  const { dialog } = texts;
  const { me } = useSession();
  const accounts = me.accounts.filter(({ disabled }) => !disabled);
  const [name, setName] = useState('');
  const [accountId, setAccountId] = useState(accounts[0]?.accountId ?? '');
  const [role, setRole] = useState<Role>('viewer');
  const [expiry, setExpiry] = useState<ExpiryDraft>({ expiry: '30', date: '' });
  const [made, setMade] = useState<MadeAccessToken>();
  const own = accounts.find((account) => account.accountId === accountId)?.role;
  // An operator has the rights of an owner on every account.
  const isOwner = me.operator || own === 'owner';
  const wanted = isOwner ? role : 'viewer';
  const { busy, error, run } = useAction(async () => {
    const ends = expiresAt(expiry) ?? undefined;
    setMade(
      await api.createAccessToken({
        name: name.trim(),
        accountId: accountId.trim(),
        role: wanted,
        ...(ends && { expiresAt: ends }),
      }),
    );
    onCreated();
  });
  if (made) return <ShownToken made={made} onClose={onClose} />;
  const roles: [Role, string][] = [
    ['viewer', common.viewer],
    ['owner', common.owner],
  ];
  return (
    <Dialog title={dialog.title} onClose={onClose}>
      {accounts.length === 0 && !me.operator ? (
        <p>{dialog.noAccounts}</p>
      ) : (
        <Form onSend={run}>
          <TextField
            label={dialog.name}
            hint={dialog.nameHint}
            maxLength={200}
            value={name}
            onValue={setName}
            missing={needed(name)}
            autofocus
            autocomplete="off"
          />
          {me.operator ? (
            <TextField
              label={dialog.accountId}
              maxLength={16}
              value={accountId}
              onValue={setAccountId}
              missing={needed(accountId)}
              autocomplete="off"
            />
          ) : (
            <Select
              label={dialog.account}
              value={accountId}
              options={accounts.map((account) => [account.accountId, isolated(account.name || account.accountId)])}
              onValue={setAccountId}
            />
          )}
          <Select
            label={dialog.role}
            hint={wanted === 'owner' ? dialog.ownerSays : dialog.viewerSays}
            value={wanted}
            options={isOwner ? roles : roles.slice(0, 1)}
            onValue={setRole}
          />
          <ExpiryFields draft={expiry} onDraft={setExpiry} />
          <Problem error={error} />
          <FormEnd busy={busy} onCancel={onClose}>
            {dialog.create}
          </FormEnd>
        </Form>
      )}
    </Dialog>
  );
}

function ShownToken({ made, onClose }: { made: MadeAccessToken; onClose: () => void }) {
  const { dialog } = texts;
  // The token is typed or pasted: neither a history of a shell nor the arguments of a process have it.
  const lines = [
    "(umask 077; printf 'Access token: ' >&2; head -n 1 > muster-access-token) &&",
    `  sed 's/^/Authorization: Bearer /' muster-access-token |`,
    `  curl -sS '${location.origin}/panel/v1/accounts/${made.accountId}/rollout' -H @-`,
  ];
  return (
    <ShownSecret
      title={dialog.made}
      label={dialog.token}
      secret={made.token}
      command={{ name: dialog.command, lines }}
      kept={dialog.kept}
      onClose={onClose}
    />
  );
}
