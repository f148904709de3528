import { isolated } from '../../src/text/shown-name.ts';
import { formatCount } from './format.ts';

/* Texts that several pages show. */

export const common = {
  product: 'Muster',
  stop: 'Stop',
  cancel: 'Cancel',
  close: 'Close',
  retry: 'Try again',
  save: 'Save',
  copy: 'Copy',
  copied: 'Copied',
  /** Heard after “Copy”: what is copied. */
  copyOf: (what: string) => `: ${what}`,
  copyId: 'Copy the id',
  copyFailed: 'Could not copy',
  copyByHand: 'Could not copy: the text is selected, press Ctrl+C',
  download: 'Download',
  loading: 'Loading…',
  working: 'Working…',
  never: 'never',
  none: 'none',
  more: 'Show more',
  skip: 'Skip to the content',
  menu: 'Menu',
  help: 'Help',
  /** Heard after it. */
  helpHeard: ' with this page, in a new tab',
  actions: 'Actions',
  actionsOf: (name: string) => `Actions for ${isolated(name)}`,
  requestId: 'Request id',
  owner: 'Owner',
  viewer: 'Viewer',
  viewerOnly: 'You may look at this account. An owner of it may change it.',
  required: 'This is needed.',
  unchanged: 'Nothing is changed yet.',
  offline: 'The service cannot be reached. What you see may be old; it is tried again by itself.',
  failed: {
    title: 'This could not be loaded',
    unreachable: 'The service cannot be reached. It is tried again by itself.',
    forbiddenTitle: 'You may not see this',
    forbidden: 'Your role does not include it. Ask an owner of the account, or an operator.',
    notFoundTitle: 'There is nothing here',
    notFound: 'It may have been deleted, or you may have no access to it.',
    again: (seconds: number) => `It can be tried again in ${seconds} s.`,
    unknownChange: 'No answer came: the change may have happened, or not. Look again before you repeat it.',
  },
  shownOnce: 'It is shown once, here and now. Keep it in a safe place.',
  manyShownOnce: 'They are shown once, here and now. Keep them in a safe place.',
  typeToConfirm: (text: string) => `Type “${text}” to confirm.`,
  rowsUnknown: (all: number, what: string) => `which of ${formatCount(all)} ${what} fit could not be read`,
  rows: (shown: number, all: number, what: string) =>
    shown === all ? `${formatCount(all)} ${what}` : `${formatCount(shown)} of ${formatCount(all)} ${what}`,
};

/** The role of a member in words. */
export const roleName = (role: 'owner' | 'viewer'): string => (role === 'owner' ? common.owner : common.viewer);
