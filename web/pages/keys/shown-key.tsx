import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { common } from '../../text/common.ts';
import { keys as texts } from '../../text/keys.ts';
import { Button, CopyButton } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { SecretText } from '../apps/enrollment-lines.tsx';

interface ShownKeyProps {
  readonly title: string;
  readonly apiKey: string;
  readonly onClose: () => void;
  /** What else there is to know of the key. */
  readonly children?: ComponentChildren;
}

/** The secret of a key, shown once, and how a program presents it. */
export function ShownKey({ title, apiKey, onClose, children }: ShownKeyProps) {
  const { dialog } = texts;
  const shownOnce = useShownOnce([apiKey]);
  const shown = useRef<HTMLPreElement>(null);
  // The key is typed or pasted, so that no history of a shell has it. It is one command: it reads no line of its own.
  const keep = "(umask 077; printf 'API key: ' >&2; head -n 1 > muster-api-key) &&";
  const lines = [keep, '  MUSTER_CLIENT_API_KEY_FILE=muster-api-key muster apps list'].join('\n');
  return (
    <Dialog title={title} onClose={onClose} wide shownOnce={shownOnce}>
      <p>{common.shownOnce}</p>
      {children}
      <SecretText label={dialog.key} secret={apiKey} />
      <h3>{dialog.use}</h3>
      <SecretText label={dialog.header} secret={`Authorization: Bearer ${apiKey}`} />
      <div class="stack tight">
        <div class="row between">
          <strong>{dialog.command}</strong>
          <CopyButton text={lines} what={dialog.command} shownIn={shown} />
        </div>
        <pre ref={shown} tabIndex={0}>
          {lines}
        </pre>
      </div>
      <div class="actions">
        <Button kind="primary" onClick={() => shownOnce.leave(onClose)}>
          {dialog.kept}
        </Button>
      </div>
    </Dialog>
  );
}
