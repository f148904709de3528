import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, Unreachable } from '../../api/client.ts';
import { links, signIn, type Link } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { door } from '../../text/door.ts';
import { formatInstant } from '../../text/format.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Form } from '../../ui/form.tsx';
import { HiddenLogin, NewPasswordField, useNewPasswordFault } from '../../ui/new-password.tsx';
import { Failed, Loading, Problem } from '../../ui/state.tsx';
import { Door } from './door.tsx';
import { needed } from '../../ui/tried.ts';

const texts = door.link;

/** The token of the link. It is taken out of the address and of the history at once, and is in memory alone. */
function takeToken(): string {
  const token = location.hash.slice(1);
  history.replaceState(null, '', '/link');
  return token;
}

/** A link of a single use: it shows what it is for, and is used up by a press. */
export function LinkPage() {
  const [token, setToken] = useState(takeToken);
  useEffect(() => {
    // Another link that is opened in the same tab changes the fragment alone, and loads no page.
    const another = (): void => {
      if (location.hash !== '') setToken(takeToken());
    };
    addEventListener('hashchange', another);
    return () => removeEventListener('hashchange', another);
  }, []);
  if (token !== '') return <Opened key={token} token={token} />;
  return (
    <Door title={texts.invalid}>
      <p>{texts.gone}</p>
      <ToSignIn />
    </Door>
  );
}

const ToSignIn = () => (
  <p>
    {texts.used} <a href="/sign-in">{door.signIn}</a>
  </p>
);

/** Tells whether what was asked for may have happened all the same. */
const mayHaveHappened = (fault: unknown): boolean =>
  fault instanceof Unreachable || (fault instanceof ApiError && fault.status >= 500);

/** Tells whether the link may be sound all the same: the service could not say. */
const isUndecided = (fault: unknown): boolean =>
  mayHaveHappened(fault) || (fault instanceof ApiError && fault.status === 429);

/** Tells whether the link may have been used: that is `invalid_request`, as other faults of the request are. */
const mayBeSpent = (fault: unknown): boolean => fault instanceof ApiError && fault.code === 'invalid_request';

function Opened({ token }: { token: string }) {
  const [link, setLink] = useState<Link>();
  const [fault, setFault] = useState<unknown>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    setFault(undefined);
    links.read(token).then(setLink, setFault);
  }, [token, round]);
  if (fault !== undefined && isUndecided(fault))
    return (
      <Door title={texts.opening}>
        <Failed error={fault} onRetry={() => setRound(round + 1)} />
      </Door>
    );
  if (fault !== undefined)
    return (
      <Door title={texts.invalid}>
        <Problem error={fault} />
        <ToSignIn />
      </Door>
    );
  if (!link)
    return (
      <Door title={texts.opening}>
        <Loading lines={3} />
      </Door>
    );
  return (
    <Door title={titleOf(link)}>
      <p>{purposeOf(link)}</p>
      {link.signedInAs !== undefined && <p>{texts.as(link.signedInAs)}</p>}
      <AcceptForm token={token} link={link} />
      {link.kind === 'invitation' && link.needsLogin && <p class="quiet small">{texts.haveUser}</p>}
      <p class="quiet small">
        {texts.expires} {formatInstant(link.expiresAt)}
      </p>
    </Door>
  );
}

const titleOf = ({ kind, accountName = '' }: Link): string =>
  kind === 'invitation' ? texts.titles.invitation(accountName) : texts.titles[kind];

function purposeOf({ kind, role, userName, login }: Link): string {
  if (kind === 'invitation') return role === 'owner' ? texts.invitation.owner : texts.invitation.viewer;
  if (kind === 'reset') return texts.reset(userName ?? login ?? '');
  return userName === undefined ? texts.firstOperator : texts.first(userName);
}

/** @throws the fault where the password lets nobody in; what the service could not decide */
async function enteredByPassword(login: string, password: string, fault: unknown): Promise<undefined> {
  const { next } = await signIn.password(login, password).catch((refused: unknown) => {
    throw isUndecided(refused) ? refused : fault;
  });
  if (next !== 'signed-in') throw fault;
}

function AcceptForm({ token, link }: { token: string; link: Link }) {
  const [name, setName] = useState(link.userName ?? '');
  const [login, setLogin] = useState(link.login ?? '');
  const [password, setPassword] = useState('');
  const { needsLogin, needsPassword } = link;
  const fault = useNewPasswordFault(password, { login, name });
  // The answer to a try may be lost after the link was used by it. Its person has set the password then, and is let in.
  const isAnswerLost = useRef(false);
  const accepted = async (): Promise<string | undefined> => {
    try {
      const { accountId } = await links.accept({
        token,
        ...(needsLogin && { name: name.trim(), login: login.trim() }),
        ...(needsPassword && { password }),
      });
      return accountId;
    } catch (fault) {
      if (mayHaveHappened(fault)) isAnswerLost.current = true;
      if (!needsPassword || !isAnswerLost.current || !mayBeSpent(fault)) throw fault;
      return await enteredByPassword(login.trim(), password, fault);
    }
  };
  const { busy, error, run } = useAction(async () => {
    const accountId = await accepted();
    location.replace(accountId === undefined ? '/' : `/accounts/${accountId}`);
  });
  return (
    <Form unsaved={false} onSend={run}>
      {needsLogin ? (
        <NewUserFields name={name} onName={setName} login={login} onLogin={setLogin} />
      ) : (
        needsPassword && <HiddenLogin login={login} />
      )}
      {needsPassword && (
        <NewPasswordField
          label={texts.password}
          hint={texts.passwordHint}
          value={password}
          onValue={setPassword}
          fault={fault}
          missing={needed(password)}
        />
      )}
      <Problem error={error} />
      <Button type="submit" kind="primary" busy={busy}>
        {link.kind === 'invitation' ? texts.accept : texts.enter}
      </Button>
    </Form>
  );
}

interface NewUserProps {
  readonly name: string;
  readonly onName: (name: string) => void;
  readonly login: string;
  readonly onLogin: (login: string) => void;
}

const NewUserFields = ({ name, onName, login, onLogin }: NewUserProps) => (
  <>
    <TextField
      label={texts.name}
      hint={texts.nameHint}
      value={name}
      onValue={onName}
      missing={needed(name)}
      autocomplete="name"
      maxLength={200}
      required
      autofocus
    />
    <TextField
      label={texts.login}
      hint={texts.loginHint}
      value={login}
      onValue={onLogin}
      missing={needed(login)}
      autocomplete="username"
      spellcheck={false}
      maxLength={254}
      required
    />
  </>
);
