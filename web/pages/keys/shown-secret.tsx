import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { common } from '../../text/common.ts';
import { Button, CopyButton } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { SecretText } from '../apps/enrollment-lines.tsx';

interface ShownSecretProps {
  readonly title: string;
  readonly label: string;
  readonly secret: string;
  /** A command that uses the secret without it in its text, and the name of that. */
  readonly command: { readonly name: string; readonly lines: readonly string[] };
  /** The button by which a person leaves. */
  readonly kept: string;
  readonly onClose: () => void;
  /** The rest of what is known of the secret. */
  readonly about?: ComponentChildren;
  /** Further ways to present the secret, before the command. */
  readonly children?: ComponentChildren;
}

/** A dialog with a secret that is shown once, and how a program presents it. */
export function ShownSecret({ title, label, secret, command, kept, onClose, about, children }: ShownSecretProps) {
  const shownOnce = useShownOnce([secret]);
  const shown = useRef<HTMLPreElement>(null);
  const text = command.lines.join('\n');
  return (
    <Dialog title={title} onClose={onClose} wide shownOnce={shownOnce}>
      <p>{common.shownOnce}</p>
      {about}
      <SecretText label={label} secret={secret} />
      {children}
      <div class="stack tight">
        <div class="row between">
          <strong>{command.name}</strong>
          <CopyButton text={text} what={command.name} shownIn={shown} />
        </div>
        <pre ref={shown} tabIndex={0}>
          {text}
        </pre>
      </div>
      <div class="actions">
        <Button kind="primary" onClick={() => shownOnce.leave(onClose)}>
          {kept}
        </Button>
      </div>
    </Dialog>
  );
}
