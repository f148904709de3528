import { render } from 'preact';
import { App } from './shell/app.tsx';

// A page that the browser kept in memory, as it was before a sign-out, is not shown again.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

const place = document.querySelector('#app');
if (place) {
  place.replaceChildren();
  render(<App />, place);
}
