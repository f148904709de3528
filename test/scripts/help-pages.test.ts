import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HELP_DOCUMENTS, helpPages } from '../../scripts/help-pages.ts';
import { HELP } from '../../web/shell/help-addresses.ts';
import { ROOT } from '../support/repository/source-tree.ts';

/* The documents as pages of the panel: what becomes of Markdown, of raw HTML, and of links. */

const FILES = { stylesheets: ['/assets/index-1.css', '/assets/help-1.css'], icon: '/assets/favicon-1.svg' };
const OTHER = '# Other\n\n## A part\n\n### <a id="x1"></a>X1: A rule\n';

/** The page of a document that begins with a title, beside GLOSSARY.md, which is `OTHER`. */
function pageOf(text: string, links: readonly string[] = []): string {
  const documents = new Map([
    ['PANEL.md', `# Panel\n\n${text}`],
    ['GLOSSARY.md', OTHER],
  ]);
  return helpPages(documents, FILES, links).get('panel.html') ?? '';
}

describe('a page', () => {
  test('has the styles of the panel and no script', () => {
    const page = pageOf('It is here.');
    for (const path of [...FILES.stylesheets, FILES.icon]) expect(page).toContain(`href="${path}"`);
    expect(page).toContain('<title>Panel · Muster</title>');
    expect(page).not.toMatch(/<script|<style|\sstyle=|\son\w+=/);
  });

  test.each([
    ['a <b>bold</b> word', 'a &lt;b&gt;bold&lt;/b&gt; word'],
    ['<script src="/x.js"></script>', '&lt;script src=&quot;/x.js&quot;&gt;&lt;/script&gt;'],
    ['a <img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)&gt;'],
    ['<a id="x" href="/y">there</a>', '&lt;a id=&quot;x&quot; href=&quot;/y&quot;&gt;there'],
    ['`<b>` and &lt;i&gt;', '<code>&lt;b&gt;</code> and &lt;i&gt;'],
    ['```sh\nls <name> && "x"\n```', '<code>ls &lt;name&gt; &amp;&amp; &quot;x&quot;\n</code>'],
    ['![<b>](/x.png "y")', '&lt;b&gt;'],
  ])('raw HTML is text: %s', (text, shown) => {
    const page = pageOf(text);
    expect(page).toContain(shown);
    expect(page.slice(page.indexOf('<main'))).not.toMatch(/<(?:script|img|b|i)\b/);
  });

  test('a comment is seen by nobody, and an anchor that the document sets is one', () => {
    const page = pageOf('<!-- Written by a program. -->\n\n### <a id="h1"></a>H1: Order\n\nSee [H1](#h1).\n');
    expect(page).not.toContain('Written');
    expect(page).toContain('<h3 id="h1-order"><span id="h1"></span>H1: Order</h3>');
    expect(page).toContain('<a href="#h1">H1</a>');
  });

  test('headings that are alike have anchors of their own, and the contents lead to each', () => {
    const page = pageOf('## Do `it`, now\n\n## Do it now\n');
    for (const id of ['do-it-now', 'do-it-now-1']) {
      expect(page).toContain(`<h2 id="${id}">`);
      expect(page).toContain(`<li><a href="#${id}">`);
    }
  });

  test('an anchor that the document sets is its own, whatever a heading is called', () => {
    const page = pageOf('## Callers\n\n### <a id="callers"></a>The table\n\n### <a id="other"></a>Other\n');
    expect(page).toContain('<h2 id="callers-1">Callers</h2>');
    expect(page).toContain('<h3 id="the-table"><span id="callers"></span>The table</h3>');
    expect(page).toContain('<h3><span id="other"></span>Other</h3>');
  });

  test('the cells of a table say of which column they are', () => {
    const page = pageOf('| A `b` | C | |\n| --- | --- | --- |\n| 1 | <i> | 2 |\n');
    expect(page).toContain('<td data-label="A b">1</td><td data-label="C">&lt;i&gt;</td><td>2</td>');
    expect(page).toContain('<thead><tr><th>A <code>b</code></th><th>C</th><td></td></tr></thead>');
  });
});

describe('a link', () => {
  test.each([
    ['to another document', '[rules](GLOSSARY.md)', '<a href="/help/glossary">rules</a>'],
    ['to a heading of it', '[it](GLOSSARY.md#a-part)', '<a href="/help/glossary#a-part">it</a>'],
    ['to an anchor of it', '[X1](GLOSSARY.md#x1)', '<a href="/help/glossary#x1">X1</a>'],
    ['to its own title', '[up](#panel)', '<a href="#panel">up</a>'],
    ['to itself', '[here](PANEL.md#panel)', '<a href="#panel">here</a>'],
    ['to another host', '[x](https://e.example/a?b&c)', '<a href="https://e.example/a?b&amp;c" rel="noreferrer">x</a>'],
    ['to the document of OpenAPI', '[v1](openapi/v1.json)', '<a href="/openapi/v1.json">v1</a>'],
    ['to a file that is not served', 'the [reason](adr/0001-records-behind-one-port.md#why) is', 'the reason is'],
    ['to a file outside of docs', 'the [chart](../charts/muster/README.md) has', 'the chart has'],
    ['to an address of e-mail', 'write ann@example.com', 'write ann@example.com'],
  ])('%s', (_name, text, html) => {
    expect(pageOf(text)).toContain(`<p>${html}</p>`);
  });

  test.each([
    ['[x](GLOSSARY.md#a-parts)', 'docs/PANEL.md: the link to GLOSSARY.md#a-parts leads to no heading'],
    ['[x](#gone)', 'docs/PANEL.md: the link to #gone leads to no heading'],
    ['| a |\n| --- |\n| [x](#gone) |', 'the link to #gone leads to no heading'],
    ['[x](javascript:alert%281%29)', 'no link may lead to javascript:alert%281%29'],
    ['[x](data:text/html,x)', 'no link may lead to data:text/html,x'],
    ['[x](//e.example)', 'no link may lead to //e.example'],
  ])('%s fails the build', (text, message) => {
    expect(() => pageOf(text)).toThrow(message);
  });

  test.each(['/help/panel#gone', '/help/gone', '/help#gone', '/helper'])('%s of a page fails the build', (link) => {
    expect(() => pageOf('It is here.', [link])).toThrow(`These addresses of the help lead nowhere: ${link}`);
  });

  test('that a page has to what is there does not', () => {
    const links = ['/help', '/help/panel', '/help/panel#panel', '/help/glossary#x1'];
    expect(pageOf('It is here.', links)).toContain('It is here.');
  });
});

test('a page that is too large fails the build, and one that is nearly so does not', () => {
  expect(() => pageOf('x'.repeat(524_288))).toThrow('help/panel.html has more than 524288 bytes.');
  expect(pageOf('x'.repeat(520_000)).length).toBeGreaterThan(520_000);
});

describe('the documents', () => {
  const documents = new Map(HELP_DOCUMENTS.map((name) => [name, readFileSync(join(ROOT, 'docs', name), 'utf8')]));
  const pages = helpPages(documents, FILES, Object.values(HELP));

  test('each has a page, and stands in the index with its first sentence', () => {
    expect(pages.size).toBe(HELP_DOCUMENTS.length + 1);
    const index = pages.get('index.html') ?? '';
    for (const name of HELP_DOCUMENTS) {
      const address = `/help/${name.replace('.md', '').toLowerCase()}`;
      expect(index).toMatch(new RegExp(`<dt><a href="${address}">.+</a></dt>\\n<dd>.{20}`));
    }
  });

  test('every link of every page leads to a page and an anchor that are there', () => {
    const idsOf = (page: string): ReadonlySet<string> =>
      new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id));
    const ids = new Map([...pages].map(([name, page]) => [`/help/${name.replace('.html', '')}`, idsOf(page)]));
    const missing = [...pages].flatMap(([name, page]) =>
      [...page.matchAll(/<a [^>]*href="([^"]+)"/g)]
        .map(([, href = '']) => href)
        .filter((href) => !/^(?:https?:|\/$|\/help$|\/openapi\/v1\.json$)/.test(href))
        .filter((href) => {
          const [path = '', anchor] = href.split('#');
          const there = ids.get(path === '' ? `/help/${name.replace('.html', '')}` : path);
          return there === undefined || (anchor !== undefined && !there.has(anchor));
        })
        .map((href) => `${name}: ${href}`),
    );
    expect(missing).toEqual([]);
  });

  test('no id is there twice in a page', () => {
    for (const [name, page] of pages) {
      const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect([name, ids.filter((id, at) => ids.indexOf(id) !== at)]).toEqual([name, []]);
    }
  });

  test('no page has a script or a style of its own', () => {
    for (const [name, page] of pages)
      expect([name, /<script|<style|<[^>]*\s(?:style|on\w+)=/.test(page)]).toEqual([name, false]);
  });
});
