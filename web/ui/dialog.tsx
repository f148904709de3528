import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useHold } from '../address/use-hold.ts';
import { useAction } from '../hooks/use-action.ts';
import { common } from '../text/common.ts';
import { TextField } from './controls.tsx';
import { Form, FormEnd } from './form.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean;
  /** Escape does not close it, and leaving the page asks first: what it shows would be lost. */
  readonly stays?: boolean;
  readonly children: ComponentChildren;
}

/** A modal dialog. It is shown for as long as it is rendered; the focus goes back to where it was. */
export function Dialog({ title, onClose, wide, stays, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useHold(stays === true);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide === true ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (stays !== true) onClose();
      }}
    >
      <div class="content">
        <h2 id={id}>{title}</h2>
        {children}
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
      <Form ready={isTyped} unsaved={false} onSend={run}>
        {typed !== undefined && (
          <TextField
            label={common.typeToConfirm(typed)}
            value={text}
            onValue={setText}
            autocomplete="off"
            spellcheck={false}
          />
        )}
        <FormEnd
          error={error}
          busy={busy}
          disabled={!isTyped}
          kind={danger ? 'danger primary' : 'primary'}
          onCancel={onClose}
        >
          {action}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
