import { useEffect, useState } from 'preact/hooks';
import { me, signIn, type SignInMethods, type SignInStep } from '../../api/panel.ts';
import { patiently } from '../../api/many.ts';
import { usePasskey } from '../../hooks/use-passkey.ts';
import { useAction } from '../../hooks/use-action.ts';
import { whyLeft } from '../../shell/return.ts';
import { door as texts } from '../../text/door.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Form } from '../../ui/form.tsx';
import { PasskeyButton } from '../../ui/passkey-button.tsx';
import { Failed, Loading, Problem } from '../../ui/state.tsx';
import { Door } from './door.tsx';
import { needed } from '../../ui/tried.ts';

/** Leaves for the panel, with nothing of this page in memory. */
const enter = (): void => location.replace('/');

/** Why a sign-in at the provider failed; it is taken out of the address. */
function takeProblem(): string | undefined {
  const code = new URLSearchParams(location.search).get('problem');
  if (code === null) return undefined;
  history.replaceState(null, '', '/sign-in');
  return texts.problems[code] ?? texts.problem;
}

/** Whether the browser can use a passkey here: it needs https, or this very machine. */
const hasPasskeys = 'PublicKeyCredential' in globalThis;

/** The ways to sign in that this installation has. */
export function SignInPage() {
  const [problem] = useState(takeProblem);
  const [why] = useState(whyLeft);
  const [methods, setMethods] = useState<SignInMethods>();
  const [fault, setFault] = useState<unknown>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    setFault(undefined);
    signIn.methods().then(setMethods, setFault);
  }, [round]);
  if (fault !== undefined)
    return (
      <Door title={texts.signIn}>
        <Failed error={fault} onRetry={() => setRound(round + 1)} />
      </Door>
    );
  if (!methods)
    return (
      <Door title={texts.signIn}>
        <Loading lines={3} />
      </Door>
    );
  const { password, provider } = methods;
  return (
    <Door title={texts.signIn}>
      {problem !== undefined && <WhatFailed says={problem} />}
      {problem === undefined && why !== undefined && (
        <p class="quiet" role="status">
          {texts.whyLeft[why]}
        </p>
      )}
      {provider !== undefined && (
        <a class="button primary" href={signIn.providerAddress}>
          {texts.provider(provider)}
        </a>
      )}
      {provider !== undefined && password && <span class="or">{texts.or}</span>}
      {password && <PasswordForm />}
      {hasPasskeys ? (
        <>
          {(password || provider !== undefined) && <span class="or">{texts.or}</span>}
          <PasskeyButton
            label={texts.passkey}
            begin={signIn.passkeyOptions}
            end={async (response) => {
              await signIn.passkey(response);
              enter();
            }}
          />
        </>
      ) : (
        <p class="quiet small">{texts.noPasskeys}</p>
      )}
      {password && <p class="quiet small">{texts.forgotten}</p>}
    </Door>
  );
}

/** Why a way by the provider failed. One that was to link an identity leaves the session as it was. */
function WhatFailed({ says }: { says: string }) {
  const [name, setName] = useState<string>();
  useEffect(() => {
    me.read().then(
      (user) => setName(user.name),
      () => setName(undefined),
    );
  }, []);
  return (
    <div class="note bad" role="alert">
      <div class="grow">
        <p>{says}</p>
        {name !== undefined && (
          <p>
            {texts.stillSignedIn(name)} <a href="/me">{texts.back}</a>
          </p>
        )}
      </div>
    </div>
  );
}

/** A longer wait is shown, and the person decides. */
const WAIT_SECONDS_MAX = 60;

function PasswordForm() {
  const [login, setLogin] = useState('');
  const [password, setPassword] = useState('');
  const [step, setStep] = useState<SignInStep>();
  const [waits, setWaits] = useState<number>();
  const { busy, error, run } = useAction(async () => {
    // One who comes back too early begins to wait anew, so the page comes back by itself.
    const wait = (seconds: number): boolean => {
      setWaits(seconds <= WAIT_SECONDS_MAX ? seconds : undefined);
      return seconds <= WAIT_SECONDS_MAX;
    };
    const next = await patiently(() => signIn.password(login.trim(), password), undefined, wait);
    setPassword('');
    if (next.next === 'signed-in') enter();
    else setStep(next);
  });
  if (step?.options) return <SecondStep options={step.options} />;
  return (
    <Form unsaved={false} onSend={run}>
      <TextField
        label={texts.login}
        value={login}
        onValue={setLogin}
        missing={needed(login)}
        autocomplete="username"
        required
        autofocus
        spellcheck={false}
        maxLength={254}
      />
      <TextField
        label={texts.password}
        type="password"
        value={password}
        onValue={setPassword}
        missing={needed(password)}
        autocomplete="current-password"
        required
        maxLength={512}
      />
      {busy && waits !== undefined && <p role="status">{texts.waits(waits)}</p>}
      <Problem error={error} />
      <Button type="submit" kind="primary" busy={busy}>
        {texts.signIn}
      </Button>
    </Form>
  );
}

function SecondStep({ options }: { options: object }) {
  const passkey = usePasskey();
  const { busy, error, run } = useAction(async (given: object | undefined) => {
    const asked = given ?? (await signIn.passkeyOptions()).options;
    await signIn.passkey(await passkey.answer(asked));
    enter();
  });
  useEffect(() => run(options), []);
  return (
    <div class="stack">
      <p role="status">{texts.passkeyToo}</p>
      <Problem error={error} />
      <Button kind="primary" icon="keys" busy={busy} onClick={() => run(undefined)}>
        {texts.passkeyAgain}
      </Button>
    </div>
  );
}
