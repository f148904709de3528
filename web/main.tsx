import { render } from 'preact';
import { App } from './shell/app.tsx';
import { keepFocus } from './shell/lost-focus.ts';
import { followTheme } from './shell/theme.ts';

// A page that the browser kept in memory, as it was before a sign-out, is not shown again.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

followTheme();
keepFocus();

const place = document.querySelector('#app');
if (place) {
  place.replaceChildren();
  render(<App />, place);
}
