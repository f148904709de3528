import { common } from '../text/common.ts';
import { Button } from './controls.tsx';
import { Popover } from './popover.tsx';

/** Something that can be done with a row. */
interface Action {
  readonly name: string;
  readonly danger?: boolean;
  readonly onChoose: () => void;
}

/** The step that a key makes among so many actions; undefined for other keys. */
const stepOf = (key: string, at: number, count: number): number | undefined =>
  new Map([
    ['ArrowDown', (at + 1) % count],
    ['ArrowUp', (at - 1 + count) % count],
    ['Home', 0],
    ['End', count - 1],
  ]).get(key);

function move(event: KeyboardEvent): void {
  if (!(event.currentTarget instanceof HTMLElement)) return;
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=menuitem]')];
  const at = items.findIndex((item) => item === document.activeElement);
  const next = stepOf(event.key, at, items.length);
  if (next === undefined) return;
  event.preventDefault();
  items[next]?.focus();
}

/** The actions on a row, behind one button: the row stays one line. The arrows go from one to the next. */
export const ActionsMenu = ({ of, actions }: { of: string; actions: readonly Action[] }) => (
  <Popover
    small
    icon="choose"
    label={common.actions}
    aria-label={common.actionsOf(of)}
    role="menu"
    heard={common.actionsOf(of)}
    first="[role=menuitem]"
    onKeyDown={move}
  >
    {(close) =>
      actions.map(({ name, danger, onChoose }) => (
        <Button
          key={name}
          role="menuitem"
          kind={danger === true ? 'danger' : 'quiet'}
          tabIndex={-1}
          onClick={() => {
            // First, so that what is opened gives the focus back to the button of the row.
            close();
            onChoose();
          }}
        >
          {name}
        </Button>
      ))
    }
  </Popover>
);
