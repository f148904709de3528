import { test } from 'vitest';
import { meOf, signing } from '../../support/panel/signing.ts';
test('x', async () => {
  await using it = await signing({});
  const { browser, token } = await it.signIn();
  const page = await browser.go(`${it.provider.issuer}/session/end?client_id=muster`);
  const text = await page.response.text();
  console.log(page.response.status, page.url.href, text.slice(0, 300), /name="xsrf"[^>]*/.exec(text)?.[0]);
  const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(text) ?? [];
  const r = await browser.go(`${it.provider.issuer}/session/end/confirm`, () => true, { xsrf, logout: 'yes' });
  console.log(r.response.status, r.url.href, (await r.response.text().catch(String)).slice(0, 500));
  await new Promise((d) => setTimeout(d, 1500));
  console.log((await meOf(it, token)).status);
  console.log(it.panel.muster.logged.filter((l) => /logout|not auth|fault/.test(l)).join(''));
}, 20000);
