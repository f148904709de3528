import { useState } from 'preact/hooks';
import { me as api } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useSession } from '../../shell/session.tsx';
import { me as texts } from '../../text/me.ts';
import { Button, Check, TextField } from '../../ui/controls.tsx';
import { Form } from '../../ui/form.tsx';
import { HiddenLogin, NewPasswordField, useNewPasswordFault } from '../../ui/new-password.tsx';
import { Card, Name } from '../../ui/page.tsx';
import { Problem } from '../../ui/state.tsx';
import { needed } from '../../ui/tried.ts';

/** Changes the user's own password, or sets the first one. */
export function PasswordCard() {
  const { me, reloadMe, say } = useSession();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [gone, setGone] = useState<Gone>(NOTHING);
  const fault = useNewPasswordFault(next, me);
  const hasOne = me.methods.password;
  const { busy, error, run } = useAction(async () => {
    // The password so far is a proof, where no passkey is asked for.
    if (hasOne && me.methods.passkeys === 0) await api.proveByPassword(current);
    await api.setPassword({
      ...(hasOne && { current }),
      password: next,
      removePasskeys: [...gone.passkeys],
      unlinkIdentities: [...gone.identities],
    });
    setCurrent('');
    setNext('');
    setGone(NOTHING);
    say(texts.passwordSet);
    reloadMe();
  });
  return (
    <Card title={texts.password}>
      <Form unsaved={next !== ''} onSend={run}>
        <HiddenLogin login={me.login} />
        {hasOne ? (
          <TextField
            label={texts.current}
            type="password"
            value={current}
            onValue={setCurrent}
            missing={needed(current)}
            autocomplete="current-password"
            maxLength={512}
          />
        ) : (
          <p class="quiet">{texts.noPassword}</p>
        )}
        <NewPasswordField
          label={texts.next}
          hint={texts.nextHint}
          value={next}
          onValue={setNext}
          fault={fault}
          missing={needed(next)}
        />
        {next !== '' && <WhatGoes gone={gone} onGone={setGone} />}
        <Problem error={error} />
        <div>
          <Button type="submit" busy={busy}>
            {texts.setPassword}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

/** What goes with the old password, by id. */
interface Gone {
  readonly passkeys: ReadonlySet<string>;
  readonly identities: ReadonlySet<string>;
}
const NOTHING: Gone = { passkeys: new Set(), identities: new Set() };

const toggled = (ids: ReadonlySet<string>, id: string, isIn: boolean): ReadonlySet<string> =>
  new Set(isIn ? [...ids, id] : [...ids].filter((other) => other !== id));

/** Offers to remove other ways in, each by its name: whoever knew the old password may have added them. */
function WhatGoes({ gone, onGone }: { gone: Gone; onGone: (gone: Gone) => void }) {
  const passkeys = useResource('passkeys', (signal) => api.passkeys({ signal }), { topics: ['me'] });
  const identities = useResource('identities', (signal) => api.identities({ signal }), { topics: ['me'] });
  const sessions = useResource('sessions', (signal) => api.sessions({ signal }), { topics: ['me'] });
  const others = sessions.data?.sessions.filter(({ current }) => !current) ?? [];
  const offered = [...(passkeys.data?.passkeys ?? []), ...(identities.data?.identities ?? [])];
  return (
    <div class="stack tight">
      {offered.length > 0 && <p>{texts.alsoRemove}</p>}
      {passkeys.data?.passkeys.map(({ passkeyId: id, name }) => (
        <Check
          key={id}
          label={texts.passkeyNamed(name)}
          checked={gone.passkeys.has(id)}
          onValue={(isIn) => onGone({ ...gone, passkeys: toggled(gone.passkeys, id, isIn) })}
        />
      ))}
      {identities.data?.identities.map(({ identityId: id, name }) => (
        <Check
          key={id}
          label={texts.identityNamed(name)}
          checked={gone.identities.has(id)}
          onValue={(isIn) => onGone({ ...gone, identities: toggled(gone.identities, id, isIn) })}
        />
      ))}
      {others.length > 0 && (
        <p class="quiet small">
          {texts.sessionsEnd}{' '}
          {others.map(({ sessionId, browser }) => (
            <span key={sessionId}>
              <Name>{browser}</Name>{' '}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}
