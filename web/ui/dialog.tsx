import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useHold } from '../address/use-hold.ts';
import { useAction } from '../hooks/use-action.ts';
import { common } from '../text/common.ts';
import { TextField } from './controls.tsx';
import { Form, FormEnd } from './form.tsx';
import { ShownOnceContext, type ShownOnce } from './shown-once.ts';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean;
  /** Escape does not close it, and leaving the page asks first: what it does would be lost. */
  readonly stays?: boolean;
  /** The secrets that it shows: closing it asks first as long as nobody has copied or saved them. */
  readonly shownOnce?: ShownOnce;
  readonly children: ComponentChildren;
}

/** The first field, or else the button that changes nothing. Elsewhere the browser chooses. */
const FOCUSED_FIRST = [
  '[autofocus]',
  ':is(input, select, textarea):not([type="hidden"], [hidden], [readonly], :disabled)',
  '[data-safest]',
];

function focusFirst(dialog: HTMLDialogElement | null): void {
  const found = FOCUSED_FIRST.map((selector) => dialog?.querySelector<HTMLElement>(selector));
  found.find((element) => element)?.focus();
}

/** A modal dialog. It is shown for as long as it is rendered; the focus goes back to where it was. */
export function Dialog({ title, onClose, wide, stays, shownOnce, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useHold(stays === true);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    focusFirst(dialog.current);
    // Its title is read first, however far down what has the focus stands.
    dialog.current?.scrollTo(0, 0);
    // While a dialog is open, nothing outside it takes the focus: first all that close together are gone.
    return () => queueMicrotask(() => before instanceof HTMLElement && before.focus());
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide === true ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (stays === true) return;
        if (shownOnce) shownOnce.leave(onClose);
        else onClose();
      }}
      onCopy={() => shownOnce?.keep(String(getSelection()))}
    >
      <div class="content">
        <h2 id={id}>{title}</h2>
        <ShownOnceContext.Provider value={shownOnce}>{children}</ShownOnceContext.Provider>
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action: string;
  /** A text that must be typed; undefined where a press is enough. */
  readonly typed?: string | undefined;
  readonly danger?: boolean;
  readonly work: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before something happens, and shows why it failed. It closes once the work is done. */
export function Confirm({ title, children, action, typed, danger = true, work, onClose }: ConfirmProps) {
  const [text, setText] = useState('');
  const { busy, error, run } = useAction(async () => {
    await work();
    onClose();
  });
  const isTyped = typed === undefined || text.trim() === typed;
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Form unsaved={false} onSend={run}>
        {typed !== undefined && (
          <TextField
            label={common.typeToConfirm(typed)}
            missing={isTyped ? undefined : common.typeToConfirm(typed)}
            value={text}
            onValue={setText}
            autocomplete="off"
            spellcheck={false}
          />
        )}
        <FormEnd error={error} busy={busy} kind={danger ? 'danger primary' : 'primary'} onCancel={onClose}>
          {action}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
