import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { account, operator } from '../api/panel.ts';
import { useResource } from '../hooks/use-resource.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { common } from '../text/common.ts';
import { finder as texts, userMenu } from '../text/navigation.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Name } from '../ui/page.tsx';
import { ACCOUNT_PLACES, OPERATOR_PLACES, isPageOpen } from './places.ts';
import { pathOfAccount, pathOfApp, pathOfApps, pathOfOperator } from './router.ts';
import { isOpenTo, useIsOwner } from './rights.ts';
import { useSession } from './session.tsx';
import { showTheme, THEMES } from './theme.ts';

/* The search over accounts, pages, actions and apps, by the keyboard alone if one likes. */

interface Found {
  readonly group: string;
  readonly name: string;
  /** What tells it from another of the same name. */
  readonly id?: string;
  readonly to: string;
  /** Done in the place of going to a page. */
  readonly act?: () => void;
}

const keyOf = ({ group, to }: Found): string => `${group} ${to}`;

/** So many of a group: a longer list is narrowed by typing. */
const GROUP_MAX = 8;

interface FinderProps {
  /** The account of the navigation; undefined where none is chosen. */
  readonly accountId: string | undefined;
  /** Accounts alone: it is asked where to go on. */
  readonly accountsOnly: boolean;
  readonly onClose: () => void;
}

export function Finder({ accountId, accountsOnly, onClose }: FinderProps) {
  const { go } = useSession();
  const id = useId();
  const [text, setText] = useState('');
  /** By what it is, for what is found later may come before it; the first one where nothing is chosen yet. */
  const [chosenKey, setChosenKey] = useState<string>();
  const { found, all, isSearching } = useFound(text.trim().toLowerCase(), accountId, accountsOnly);
  const at = Math.max(
    0,
    found.findIndex((one) => keyOf(one) === chosenKey),
  );
  const chosen = found[at];
  useLayoutEffect(() => setChosenKey(chosen && keyOf(chosen)), [chosen]);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [at, found]);
  const choose = ({ to, act = () => go(to) }: Found): void => {
    onClose();
    act();
  };
  const press = (event: KeyboardEvent): void => {
    // Enter ends a word of an input method, and the arrows choose one.
    if (event.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = found[(at + (by ?? 0) + found.length) % found.length];
    if (by !== undefined && next) setChosenKey(keyOf(next));
    else if (event.key === 'Enter' && chosen) choose(chosen);
    else return;
    event.preventDefault();
  };
  const label = accountsOnly ? texts.accounts : texts.label;
  return (
    <Dialog title={label} onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        list={undefined}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${at}`}
        placeholder={accountsOnly ? texts.accountsHint : texts.hint}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        autofocus
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setChosenKey(undefined);
        }}
        onKeyDown={press}
      />
      <ul class="found" role="listbox" id={`${id}-list`} aria-label={texts.results} ref={list}>
        {found.map((one, number) => (
          <li
            key={keyOf(one)}
            id={`${id}-${number}`}
            role="option"
            aria-selected={number === at}
            onClick={() => choose(one)}
          >
            <Name>{one.name}</Name>
            {one.id !== undefined && <code>{one.id}</code>}
            <span class="quiet small">{one.group}</span>
          </li>
        ))}
      </ul>
      <p class="quiet small" role="status">
        {found.length > 0
          ? texts.count(found.length, all)
          : text.trim() === ''
            ? texts.begin
            : isSearching
              ? common.loading
              : accountsOnly
                ? texts.nothing
                : texts.nothingHint}
      </p>
    </Dialog>
  );
}

interface FoundSoFar {
  readonly found: readonly Found[];
  /** The number of those that fit, of which these are the first. */
  readonly all: number;
  /** More may come. */
  readonly isSearching: boolean;
}

function useFound(text: string, accountId: string | undefined, accountsOnly: boolean): FoundSoFar {
  const { me, signOut } = useSession();
  const { groups } = texts;
  const isOwner = useIsOwner(accountId ?? '');
  const mayFind = isOpenTo(me, 'findAccounts');
  const asked = useSettled(text);
  const searched = useResource(`finder ${asked}`, async (signal) =>
    mayFind && asked !== '' ? (await operator.find(asked, { signal })).accounts : [],
  );
  const apps = useResource(`finder apps ${accountId ?? ''}`, async (signal) =>
    accountId === undefined || accountsOnly ? [] : (await account(accountId).apps({ signal })).apps,
  );
  const accounts = new Map([...(searched.data ?? []), ...me.accounts].map((one) => [one.accountId, one.name]));
  const fits = ({ name, id }: Found): boolean => name.toLowerCase().includes(text) || id === text;
  const groupsOf: readonly (readonly Found[])[] = [
    accountsOnly || accountId === undefined
      ? []
      : [
          ...ACCOUNT_PLACES.filter(([page]) => isPageOpen(me, { page, accountId })).map(([page, name]) => ({
            group: groups.page,
            name,
            to: pathOfAccount(accountId, page),
          })),
          ...(isPageOpen(me, { page: 'apps', accountId })
            ? [{ group: groups.page, name: texts.failed, to: pathOfApps(accountId, { configuration: 'failed' }) }]
            : []),
          ...(isOwner
            ? texts.actions.map(([page, what, name]) => ({
                group: groups.action,
                name,
                to: `${pathOfAccount(accountId, page)}?new=${what}`,
              }))
            : []),
        ],
    accountsOnly || !isOpenTo(me, 'listAccounts')
      ? []
      : OPERATOR_PLACES.filter(([page]) => isPageOpen(me, { page })).map(([page, name]) => ({
          group: groups.operator,
          name,
          to: pathOfOperator(page),
        })),
    accountsOnly
      ? []
      : [
          { group: groups.page, name: texts.me, to: '/me' },
          ...THEMES.map((theme) => ({
            group: groups.action,
            name: texts.theme(userMenu.themes[theme]),
            to: theme,
            act: () => void showTheme(theme),
          })),
          { group: groups.action, name: userMenu.signOut, to: 'sign-out', act: signOut },
        ],
    [...accounts].map(([id, name]) => ({ group: groups.account, name, id, to: pathOfAccount(id) })),
    accountId === undefined || text === ''
      ? []
      : (apps.data ?? []).map(({ appId, name }) => ({
          group: groups.app,
          name,
          id: appId,
          to: pathOfApp(accountId, appId),
        })),
  ];
  const fitting = groupsOf.map((group) => group.filter(fits));
  const found = fitting.flatMap((group) => group.slice(0, text === '' ? group.length : GROUP_MAX));
  return {
    found,
    all: fitting.flat().length,
    isSearching: (mayFind && asked !== text) || searched.loading || apps.loading,
  };
}
