import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useHold } from '../address/use-hold.ts';
import { common } from '../text/common.ts';
import { Button } from './controls.tsx';
import { Problem } from './state.tsx';

interface FormProps {
  /** Called when its button is pressed, or Enter in a field. */
  readonly onSend: () => void;
  /** Its button is enabled. */
  readonly ready?: boolean;
  /** Whether something is lost where the page is left; as soon as somebody has typed, where it is not told. */
  readonly unsaved?: boolean;
  readonly children?: ComponentChildren;
}

/** Fields that are sent together. Leaving the page asks first where they hold what is not saved. */
export function Form({ onSend, ready = true, unsaved, children }: FormProps) {
  const [isTyped, setTyped] = useState(false);
  useHold(unsaved ?? isTyped);
  return (
    <form
      class="stack"
      onInput={() => setTyped(true)}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onSend();
      }}
    >
      {children}
    </form>
  );
}

interface FormEndProps {
  readonly error?: unknown;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  /** It cannot be left while it is sent. */
  readonly stays?: boolean;
  readonly kind?: 'primary' | 'danger primary';
  readonly onCancel: () => void;
  readonly children: ComponentChildren;
}

/** The end of a form in a dialog: what went wrong, the way out, and the button that sends it. */
export const FormEnd = ({
  error,
  busy = false,
  disabled = false,
  stays = false,
  kind = 'primary',
  onCancel,
  children,
}: FormEndProps) => (
  <>
    <Problem error={error} />
    <div class="actions">
      <Button disabled={stays && busy} onClick={onCancel}>
        {common.cancel}
      </Button>
      <Button type="submit" kind={kind} busy={busy} disabled={disabled}>
        {children}
      </Button>
    </div>
  </>
);
