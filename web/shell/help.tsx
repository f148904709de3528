import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { common } from '../text/common.ts';
import { Icon } from '../ui/icons.tsx';
import { HELP, type HelpedPage } from './help-addresses.ts';

/** The page that is shown, whatever its address. */
const ShownPage = createContext<HelpedPage>('unknown');
export const Helped = ShownPage.Provider;

/** Leads to what the documents say about the page that is shown; what is typed there stays. */
export const HelpLink = () => (
  <a class="button quiet small" href={HELP[useContext(ShownPage)]} target="_blank" rel="noreferrer">
    <Icon name="help" />
    {common.help}
    <span class="heard">{common.helpHeard}</span>
  </a>
);
