import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useHold } from '../address/use-hold.ts';
import { common } from '../text/common.ts';
import { Button } from './controls.tsx';
import { Problem } from './state.tsx';
import { Tried } from './tried.ts';

interface FormProps {
  /** Called when its button is pressed, or Enter in a field. */
  readonly onSend: () => void;
  /** Whether something is lost where the page is left; as soon as somebody has typed, where it is not told. */
  readonly unsaved?: boolean;
  readonly children?: ComponentChildren;
}

/**
 * Fields that are sent together. Its button can always be pressed: where a field is wrong, nothing is sent, each such
 * field says so, and the first one has the focus. Leaving the page asks first where the form holds what is not saved.
 */
export function Form({ onSend, unsaved, children }: FormProps) {
  const [isTyped, setTyped] = useState(false);
  const [tries, setTries] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useHold(unsaved ?? isTyped);
  useLayoutEffect(() => {
    if (tries > 0) firstWrong(form.current)?.focus();
  }, [tries]);
  return (
    <form
      ref={form}
      class="stack"
      noValidate
      onInput={() => setTyped(true)}
      onSubmit={(event) => {
        event.preventDefault();
        if (firstWrong(form.current)) return setTries(tries + 1);
        setTries(0);
        onSend();
      }}
    >
      <Tried.Provider value={tries > 0}>{children}</Tried.Provider>
    </form>
  );
}

const firstWrong = (form: HTMLFormElement | null): HTMLElement | null | undefined =>
  form?.querySelector<HTMLElement>('[data-wrong]');

interface FormEndProps {
  readonly error?: unknown;
  readonly busy?: boolean;
  /** It cannot be left while it is sent. */
  readonly stays?: boolean;
  readonly kind?: 'primary' | 'danger primary';
  readonly onCancel: () => void;
  /** While it is sent: lets what is under way come to its end, and begins nothing more. */
  readonly onStop?: (() => void) | undefined;
  readonly children: ComponentChildren;
}

/** The end of a form in a dialog: what went wrong, the way out, and the button that sends it. */
export const FormEnd = ({
  error,
  busy = false,
  stays = false,
  kind = 'primary',
  onCancel,
  onStop,
  children,
}: FormEndProps) => (
  <>
    <Problem error={error} />
    <div class="actions">
      {busy && onStop ? (
        <Button onClick={onStop}>{common.stop}</Button>
      ) : (
        <Button data-safest disabled={stays && busy} onClick={onCancel}>
          {common.cancel}
        </Button>
      )}
      <Button type="submit" kind={kind} busy={busy}>
        {children}
      </Button>
    </div>
  </>
);
