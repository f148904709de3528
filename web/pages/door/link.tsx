import { useEffect, useState } from 'preact/hooks';
import { passwordFault } from '../../../src/domain/passwords/password-rules.ts';
import { links, type Link } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { common } from '../../text/common.ts';
import { door } from '../../text/door.ts';
import { formatInstant } from '../../text/format.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Loading, Problem } from '../../ui/state.tsx';
import { Door } from './door.tsx';

const texts = door.link;

/** The token of the link. It is taken out of the address and of the history at once, and is in memory alone. */
function takeToken(): string {
  const token = location.hash.slice(1);
  history.replaceState(null, '', '/link');
  return token;
}

/** A link of a single use: it shows what it is for, and is used up by a press. */
export function LinkPage() {
  const [token] = useState(takeToken);
  const [link, setLink] = useState<Link>();
  const [fault, setFault] = useState<unknown>();
  useEffect(() => {
    if (token !== '') links.read(token).then(setLink, setFault);
  }, [token]);
  if (token === '')
    return (
      <Door title={texts.invalid}>
        <p>{texts.gone}</p>
      </Door>
    );
  if (fault !== undefined)
    return (
      <Door title={texts.invalid}>
        <Problem error={fault} />
      </Door>
    );
  if (!link)
    return (
      <Door title={common.product}>
        <Loading lines={3} />
      </Door>
    );
  return (
    <Door title={titleOf(link)}>
      <p>{purposeOf(link)}</p>
      {link.signedInAs !== undefined && <p>{texts.as(link.signedInAs)}</p>}
      <AcceptForm token={token} link={link} />
      <p class="quiet small">
        {texts.expires} {formatInstant(link.expiresAt)}
      </p>
    </Door>
  );
}

const titleOf = ({ kind, accountName = '' }: Link): string =>
  kind === 'invitation' ? texts.titles.invitation(accountName) : texts.titles[kind];

function purposeOf({ kind, role, userName, login }: Link): string {
  if (kind === 'invitation') return texts.invitation(role === 'owner' ? common.owner : common.viewer);
  if (kind === 'reset') return texts.reset(userName ?? login ?? '');
  return userName === undefined ? texts.firstOperator : texts.first;
}

function AcceptForm({ token, link }: { token: string; link: Link }) {
  const [name, setName] = useState(link.userName ?? '');
  const [login, setLogin] = useState(link.login ?? '');
  const [password, setPassword] = useState('');
  const { needsLogin, needsPassword } = link;
  const fault = password === '' ? undefined : passwordFault(password, { login, name });
  const isWhole =
    (!needsLogin || (name.trim() !== '' && login.trim() !== '')) &&
    (!needsPassword || (password !== '' && fault === undefined));
  const { busy, error, run } = useAction(async () => {
    const { accountId } = await links.accept({
      token,
      ...(needsLogin && { name: name.trim(), login: login.trim() }),
      ...(needsPassword && { password }),
    });
    location.replace(accountId === undefined ? '/' : `/accounts/${accountId}`);
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isWhole) run();
      }}
    >
      {needsLogin && (
        <>
          <TextField
            label={texts.name}
            hint={texts.nameHint}
            value={name}
            onValue={setName}
            autocomplete="name"
            maxLength={100}
            autofocus
          />
          <TextField
            label={texts.login}
            hint={texts.loginHint}
            value={login}
            onValue={setLogin}
            autocomplete="username"
            spellcheck={false}
            maxLength={254}
          />
        </>
      )}
      {needsPassword && (
        <TextField
          label={texts.password}
          hint={texts.passwordHint}
          type="password"
          value={password}
          onValue={setPassword}
          fault={fault}
          autocomplete="new-password"
          maxLength={512}
        />
      )}
      <Problem error={error} />
      <Button type="submit" kind="primary" busy={busy} disabled={!isWhole}>
        {link.kind === 'invitation' ? texts.accept : texts.enter}
      </Button>
    </form>
  );
}
