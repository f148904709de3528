import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { whenProofIsNeeded } from '../api/client.ts';
import { me as api, signIn, type Me } from '../api/panel.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { common } from '../text/common.ts';
import { proof as texts } from '../text/proof.ts';
import { Button, TextField } from '../ui/controls.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { HiddenLogin } from '../ui/new-password.tsx';
import { PasskeyButton } from '../ui/passkey-button.tsx';
import { Problem, Shown } from '../ui/state.tsx';
import { listenForProof } from './proved-channel.ts';
import { needed } from '../ui/tried.ts';

/** Asks for a proof of the person whenever the service wants one. What was begun waits for it. */
export function ProofDialogs({ me }: { me: Me }) {
  const [isAsked, setAsked] = useState(false);
  const waiting = useRef<(isProved: boolean) => void>(undefined);
  // Before anything of the page can ask.
  useLayoutEffect(() => {
    whenProofIsNeeded(
      () =>
        new Promise((resolve) => {
          waiting.current = resolve;
          setAsked(true);
        }),
    );
    return () => whenProofIsNeeded(() => Promise.resolve(false));
  }, []);
  const ended = useCallback((isProved: boolean) => {
    setAsked(false);
    waiting.current?.(isProved);
  }, []);
  if (!isAsked) return null;
  return (
    <Dialog title={texts.title} onClose={() => ended(false)}>
      <div class="stack">
        <p>{texts.says}</p>
        <ProofWays me={me} onProved={() => ended(true)} />
        <div class="actions">
          <Button onClick={() => ended(false)}>{common.cancel}</Button>
        </div>
      </div>
    </Dialog>
  );
}

interface ProofProps {
  readonly me: Me;
  readonly onProved: () => void;
}

/** The ways in which the user can prove who they are: what a sign-in would ask for. */
export function ProofWays({ me, onProved }: ProofProps) {
  const methods = useResource('sign-in methods', () => signIn.methods());
  const hasPasskey = me.methods.passkeys > 0;
  return (
    <Shown of={methods} lines={2}>
      {({ password, provider }) => {
        const byPassword = password && me.methods.password && !hasPasskey;
        const byProvider = provider !== undefined && me.methods.provider;
        return (
          <div class="stack">
            {byPassword && <ByPassword me={me} onProved={onProved} />}
            {hasPasskey && (
              <PasskeyButton
                kind="primary"
                label={texts.passkey}
                begin={api.passkeyProofOptions}
                end={async (response) => {
                  await api.proveByPasskey(response);
                  onProved();
                }}
              />
            )}
            {byProvider && <ByProvider name={provider} onProved={onProved} />}
            {!byPassword && !hasPasskey && <p class="quiet">{texts.none}</p>}
          </div>
        );
      }}
    </Shown>
  );
}

function ByPassword({ me, onProved }: ProofProps) {
  const [password, setPassword] = useState('');
  const { busy, error, run } = useAction(async () => {
    await api.proveByPassword(password);
    onProved();
  });
  return (
    <Form unsaved={false} onSend={run}>
      <HiddenLogin login={me.login} />
      <TextField
        label={texts.password}
        type="password"
        value={password}
        onValue={setPassword}
        missing={needed(password)}
        autocomplete="current-password"
        autofocus
        maxLength={512}
      />
      <Problem error={error} />
      <div>
        <Button type="submit" kind="primary" busy={busy}>
          {texts.confirm}
        </Button>
      </div>
    </Form>
  );
}

function ByProvider({ name, onProved }: { name: string; onProved: () => void }) {
  const [problem, setProblem] = useState<string>();
  useEffect(() => listenForProof((failed) => (failed === undefined ? onProved() : setProblem(failed))), [onProved]);
  // The window is opened by the press itself: browsers block one that comes later.
  const open = (): void => {
    setProblem(undefined);
    if (!window.open(api.providerProofAddress, '_blank', 'popup,width=560,height=720')) setProblem(texts.blocked);
  };
  return (
    <div class="stack">
      {problem !== undefined && (
        <div class="note bad" role="alert">
          <p>{problem}</p>
        </div>
      )}
      <div class="row">
        <Button onClick={open}>{texts.provider(name)}</Button>
        <span class="quiet small">{texts.providerSays}</span>
      </div>
    </div>
  );
}
