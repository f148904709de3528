import type { ComponentChildren, ComponentProps } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { common } from '../text/common.ts';
import { copy } from './copy.ts';
import { Icon, type IconName } from './icons.tsx';
import { useKeep } from './shown-once.ts';
import { useFault, type Faults } from './tried.ts';

/* Buttons, fields and badges. */

interface ButtonProps extends Omit<ComponentProps<'button'>, 'icon' | 'type' | 'disabled'> {
  readonly kind?: 'primary' | 'danger' | 'danger primary' | 'quiet' | 'words' | undefined;
  readonly small?: boolean;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly type?: 'button' | 'submit';
  readonly icon?: IconName | undefined;
  readonly children?: ComponentChildren;
}

/** A button. While it is busy it keeps the focus, and a further press does nothing. */
export function Button({ kind, small, busy, icon, children, type = 'button', onClick, ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      class={`button ${kind ?? ''} ${small === true ? 'small' : ''}`}
      aria-disabled={busy === true ? 'true' : undefined}
      onClick={busy === true ? (event: Event) => event.preventDefault() : onClick}
    >
      {icon && <Icon name={icon} />}
      {busy === true ? common.working : children}
    </button>
  );
}

interface FieldProps extends Faults {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly grow?: boolean;
}

/** The attributes that fields here have. */
interface TextAttributes {
  readonly autocomplete?: string;
  readonly spellcheck?: boolean;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly disabled?: boolean;
  readonly autofocus?: boolean;
  readonly name?: string;
}

interface TextFieldProps extends FieldProps, TextAttributes {
  readonly type?: 'text' | 'password' | 'email' | 'search' | 'number' | 'date' | 'datetime-local' | 'month' | 'url';
  readonly inputMode?: 'text' | 'numeric' | 'url' | 'email';
  readonly min?: string | number;
  readonly max?: string | number;
  readonly step?: number;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** A text field with its label, a hint and what is wrong with it. */
export function TextField({ label, hint, fault, missing, grow, value, onValue, ...input }: TextFieldProps) {
  const id = useId();
  const { says, wrong } = useFault({ fault, missing });
  const element = useRef<HTMLInputElement>(null);
  // Browsers heed the attribute when a page or a dialog opens, and not in a field that comes later.
  useEffect(() => {
    if (input.autofocus === true) element.current?.focus();
  }, [input.autofocus]);
  return (
    <div class={`field ${grow === true ? 'grow' : ''}`}>
      <label for={id}>{label}</label>
      <input
        {...(input as ComponentProps<'input'>)}
        ref={element}
        id={id}
        value={value}
        data-wrong={wrong}
        aria-invalid={says === undefined ? undefined : 'true'}
        aria-describedby={`${id}-more`}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      <More id={`${id}-more`} hint={hint} fault={says} />
    </div>
  );
}

interface AreaProps extends FieldProps, TextAttributes {
  readonly rows?: number;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

export function TextArea({ label, hint, fault, missing, grow, value, onValue, ...area }: AreaProps) {
  const id = useId();
  const { says, wrong } = useFault({ fault, missing });
  return (
    <div class={`field ${grow === true ? 'grow' : ''}`}>
      <label for={id}>{label}</label>
      <textarea
        {...area}
        id={id}
        value={value}
        data-wrong={wrong}
        aria-invalid={says === undefined ? undefined : 'true'}
        aria-describedby={`${id}-more`}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      <More id={`${id}-more`} hint={hint} fault={says} />
    </div>
  );
}

interface SelectProps<Value extends string> extends FieldProps {
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onValue: (value: Value) => void;
  readonly disabled?: boolean;
}

/** Those of one group stand under its heading, and the others before all groups. */
export type Option<Value extends string = string> = readonly [value: Value, label: string, group?: string];

export function Select<Value extends string>({
  label,
  hint,
  fault,
  missing,
  grow,
  value,
  options,
  onValue,
  disabled,
}: SelectProps<Value>) {
  const id = useId();
  const { says, wrong } = useFault({ fault, missing });
  return (
    <div class={`field ${grow === true ? 'grow' : ''}`}>
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        disabled={disabled}
        data-wrong={wrong}
        aria-invalid={says === undefined ? undefined : 'true'}
        aria-describedby={`${id}-more`}
        onChange={(event) => onValue(event.currentTarget.value as Value)}
      >
        {[...Map.groupBy(options, ([, , group]) => group)].map(([group, grouped]) =>
          group === undefined ? (
            grouped.map(asOption)
          ) : (
            <optgroup key={group} label={group}>
              {grouped.map(asOption)}
            </optgroup>
          ),
        )}
      </select>
      <More id={`${id}-more`} hint={hint} fault={says} />
    </div>
  );
}

const asOption = ([value, text]: Option) => (
  <option key={value} value={value}>
    {text}
  </option>
);

function More({ id, hint, fault }: { id: string; hint?: ComponentChildren; fault?: string | undefined }) {
  return (
    <span id={id}>
      {hint !== undefined && <span class="hint">{hint}</span>}
      {fault !== undefined && <span class="fault"> {fault}</span>}
    </span>
  );
}

interface CheckProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onValue: (checked: boolean) => void;
  readonly disabled?: boolean;
  readonly hint?: ComponentChildren;
}

export function Check({ label, checked, onValue, disabled, hint }: CheckProps) {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onValue(event.currentTarget.checked)}
      />
      <label for={id}>
        {label}
        {hint !== undefined && <div class="quiet small">{hint}</div>}
      </label>
    </div>
  );
}

type Tone = 'good' | 'warn' | 'bad' | 'calm';

/** A word of state. Its tone is never the only sign: the text says the same. */
export const Badge = ({
  tone = 'calm',
  icon,
  children,
}: {
  tone?: Tone;
  icon?: IconName;
  children: ComponentChildren;
}) => (
  <span class={`badge ${tone}`}>
    {icon && <Icon name={icon} />}
    {children}
  </span>
);

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  /** The name of what it copies, for those who hear the button alone. */
  readonly what?: string;
  /** The id of what says more of it. */
  readonly describedBy?: string;
  readonly small?: boolean;
  /** Where the text stands: it is selected where it cannot be copied, so that the person can. */
  readonly shownIn?: { readonly current: HTMLElement | null };
  readonly autofocus?: boolean;
}

/** Copies a text. The button says that it has, or that it could not. */
export function CopyButton({
  text,
  label = common.copy,
  what,
  describedBy,
  small = true,
  shownIn,
  autofocus = false,
}: CopyButtonProps) {
  const [said, setSaid] = useState<string>();
  const keep = useKeep();
  const press = (): void => {
    void copy(text, shownIn?.current).then((says) => {
      setSaid(says);
      if (says !== common.copied) return;
      keep?.(text);
      setTimeout(() => setSaid(undefined), 2500);
    });
  };
  return (
    <Button
      small={small}
      icon={said === common.copied ? 'check' : 'copy'}
      onClick={press}
      autofocus={autofocus}
      aria-describedby={describedBy}
    >
      <span aria-live="polite">{said ?? label}</span>
      {what !== undefined && <span class="heard">{common.copyOf(what)}</span>}
    </Button>
  );
}

/** Saves a text as a file, without a request. */
export function DownloadButton({
  text,
  file,
  type = 'text/plain',
  label = common.download,
  title,
  small = true,
}: {
  /** A function makes it once it is wanted. */
  text: string | (() => string);
  file: string | (() => string);
  type?: string;
  label?: string;
  title?: string;
  small?: boolean;
}) {
  const keep = useKeep();
  const save = (): void => {
    const content = typeof text === 'string' ? text : text();
    const url = URL.createObjectURL(new Blob([content], { type }));
    const anchor = document.createElement('a');
    anchor.href = url;
    anchor.download = typeof file === 'string' ? file : file();
    anchor.click();
    keep?.(content);
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <Button small={small} icon={small ? 'download' : undefined} title={title} onClick={save}>
      {label}
    </Button>
  );
}
