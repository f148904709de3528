import type { ComponentChildren } from 'preact';
import { keys as texts } from '../../text/keys.ts';
import { SecretText } from '../apps/enrollment-lines.tsx';
import { ShownSecret } from './shown-secret.tsx';

interface ShownKeyProps {
  readonly title: string;
  readonly apiKey: string;
  readonly onClose: () => void;
  /** The rest of what is known of the key. */
  readonly children?: ComponentChildren;
}

/** The key is typed or pasted: no history of a shell has it. It is one command, which reads no line but the key. */
const LINES = [
  "(umask 077; printf 'API key: ' >&2; head -n 1 > muster-api-key) &&",
  '  MUSTER_CLIENT_API_KEY_FILE=muster-api-key muster apps list',
];

/** The secret of a key, shown once, and how a program presents it. */
export function ShownKey({ title, apiKey, onClose, children }: ShownKeyProps) {
  const { dialog } = texts;
  return (
    <ShownSecret
      title={title}
      label={dialog.key}
      secret={apiKey}
      command={{ name: dialog.command, lines: LINES }}
      kept={dialog.kept}
      onClose={onClose}
      about={children}
    >
      <h3>{dialog.use}</h3>
      <SecretText label={dialog.header} secret={`Authorization: Bearer ${apiKey}`} />
    </ShownSecret>
  );
}
