import { useState } from 'preact/hooks';
import { me as api, type Passkey } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { usePasskey } from '../../hooks/use-passkey.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useSession } from '../../shell/session.tsx';
import { me as texts } from '../../text/me.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, Name, Time } from '../../ui/page.tsx';
import { Problem, Shown } from '../../ui/state.tsx';
import { needed } from '../../ui/tried.ts';

interface PasskeyListProps {
  readonly list: readonly Passkey[];
  readonly onRemove: (passkey: Passkey) => void;
}

const PasskeyList = ({ list, onRemove }: PasskeyListProps) => (
  <ul class="stack tight plain">
    {list.map((one) => (
      <li key={one.passkeyId} class="row between">
        <span class="row">
          <Name>{one.name}</Name>
          <span class="quiet small">
            {texts.added} <Time at={one.createdAt} />
          </span>
        </span>
        <Button small kind="danger" aria-label={texts.removeOne(one.name)} onClick={() => onRemove(one)}>
          {texts.remove}
        </Button>
      </li>
    ))}
  </ul>
);

/** The user's own passkeys. @param passwords whether anybody signs in by one in this installation */
export function PasskeysCard({ passwords }: { passwords: boolean }) {
  const { me, reloadMe, say } = useSession();
  const passkeys = useResource('passkeys', (signal) => api.passkeys({ signal }), { topics: ['me'] });
  const [removed, setRemoved] = useState<Passkey>();
  const changed = (says: string): void => {
    say(says);
    passkeys.reload();
    reloadMe();
  };
  const hasPassword = passwords && me.methods.password;
  const isLast = passkeys.data?.passkeys.length === 1;
  return (
    <Card title={texts.passkeys}>
      <div class="stack">
        <p class="quiet">{hasPassword ? texts.passkeysWithPassword : texts.passkeysAlone}</p>
        <Shown of={passkeys} lines={2}>
          {({ passkeys: list }) =>
            list.length === 0 ? <p>{texts.noPasskeys}</p> : <PasskeyList list={list} onRemove={setRemoved} />
          }
        </Shown>
        <AddPasskey onAdded={() => changed(texts.passkeyAdded)} />
      </div>
      {removed && (
        <Confirm
          title={texts.removePasskey}
          action={texts.remove}
          work={async () => {
            await api.removePasskey(removed.passkeyId);
            changed(texts.passkeyRemoved);
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>
            <Name>{removed.name}</Name>
          </p>
          <p>{isLast && hasPassword ? texts.removeLastSays : texts.removeSays}</p>
        </Confirm>
      )}
    </Card>
  );
}

function AddPasskey({ onAdded }: { onAdded: () => void }) {
  const [name, setName] = useState(texts.passkeyDefault);
  const passkey = usePasskey();
  const { busy, error, run } = useAction(async () => {
    const { options } = await api.passkeyOptions();
    await api.addPasskey(name.trim(), await passkey.make(options));
    setName(texts.passkeyDefault);
    onAdded();
  });
  return (
    <Form unsaved={false} onSend={run}>
      <TextField
        label={texts.passkeyName}
        hint={texts.passkeyNameHint}
        value={name}
        onValue={setName}
        missing={needed(name)}
        maxLength={200}
        autocomplete="off"
      />
      <Problem error={error} />
      <div>
        <Button type="submit" icon="keys" busy={busy}>
          {texts.addPasskey}
        </Button>
      </div>
    </Form>
  );
}
