import { useAction } from '../hooks/use-action.ts';
import { usePasskey } from '../hooks/use-passkey.ts';
import type { WebAuthn } from '../api/panel.ts';
import { Button } from './controls.tsx';
import { Problem } from './state.tsx';

interface PasskeyButtonProps {
  readonly label: string;
  readonly kind?: 'primary';
  /** Asks the service for a challenge. */
  readonly begin: () => Promise<{ readonly options: object }>;
  /** Gives the service the answer of the passkey. */
  readonly end: (response: WebAuthn) => Promise<unknown>;
}

/** A button that asks for a passkey, with what went wrong below it. */
export function PasskeyButton({ label, kind, begin, end }: PasskeyButtonProps) {
  const passkey = usePasskey();
  const { busy, error, run } = useAction(async () => {
    const { options } = await begin();
    await end(await passkey.answer(options));
  });
  return (
    <>
      <Button {...(kind && { kind })} icon="keys" busy={busy} onClick={run}>
        {label}
      </Button>
      <Problem error={error} />
    </>
  );
}
