import { Marked, type Token, type Tokens } from 'marked';
import { posix } from 'node:path';

/*
 * The documents for people who use the panel, as pages of HTML without a script. Markdown is rendered, raw HTML is
 * shown as text, and a link leads to another of these pages, to another host, or nowhere. A link to a heading that is
 * not there fails the build.
 */

/** The groups of the index, with the documents of `docs` in their order. */
const GROUPS = [
  ['The panel', ['PANEL.md', 'GLOSSARY.md']],
  ['Daemons and programs', ['OPAMP.md', 'API.md', 'CLI.md', 'PACKAGE.md']],
  ['The service', ['INSTALL.md', 'KUBERNETES.md', 'CONFIGURATION.md', 'OPERATIONS.md', 'RUNBOOK.md', 'METRICS.md']],
  ['Every rule', ['CONTRACT.md']],
] as const;

/** The files of `docs` that have a page. */
export const HELP_DOCUMENTS: readonly string[] = GROUPS.flatMap(([, files]) => files);
/** The address of the index, below which the pages are. */
const HELP = '/help';
/** A file beside the documents that the panel serves as well. */
const SERVED_FILES = new Map([['docs/openapi/v1.json', '/openapi/v1.json']]);
/** No page is larger, before compression. */
const PAGE_BYTES_MAX = 512 * 1024;
/** A table of so many columns may be wider than the window, and is then scrolled. */
const WIDE_FROM = 5;

/** The addresses of the panel's files that the pages use. */
export interface PanelFiles {
  readonly stylesheets: readonly string[];
  readonly icon: string;
}

interface Heading {
  readonly depth: number;
  readonly id: string;
  /** The document sets its anchor within it. */
  readonly hasOwn: boolean;
  /** As HTML, without a link. */
  readonly html: string;
}

interface Document {
  /** Its path from the root of the repository. */
  readonly path: string;
  readonly title: string;
  /** The first sentence, as HTML without a link. */
  readonly about: string;
  readonly tokens: readonly Token[];
  readonly headings: ReadonlyMap<Token, Heading>;
  /** All that a link may name behind `#`. */
  readonly anchors: ReadonlySet<string>;
}

/**
 * The pages by the names of their files: `index.html`, and one for each document.
 * @param documents the text of each of `HELP_DOCUMENTS` by its name
 * @param links addresses of these pages that others lead to, which are held to be there
 * @throws Error where a link leads to a page or a heading that is not there, or a page is too large
 */
export function helpPages(
  documents: ReadonlyMap<string, string>,
  files: PanelFiles,
  links: readonly string[] = [],
): ReadonlyMap<string, string> {
  const read = new Map([...documents].map(([name, text]) => [`docs/${name}`, readDocument(`docs/${name}`, text)]));
  const served = new Map([...read.values()].map((one) => [addressOf(one.path), one]));
  const faults = links.filter((link) => {
    const [address = '', anchor] = link.split('#');
    return address === HELP ? anchor !== undefined : isMissing(served.get(address), anchor);
  });
  if (faults.length > 0) throw new Error(`These addresses of the help lead nowhere: ${faults.join(', ')}`);
  const pages = new Map([['index.html', indexPage(read, files)]]);
  for (const document of read.values()) pages.set(`${nameOf(document.path)}.html`, documentPage(document, read, files));
  for (const [name, page] of pages) {
    if (Buffer.byteLength(page) > PAGE_BYTES_MAX)
      throw new Error(`help/${name} has more than ${PAGE_BYTES_MAX} bytes.`);
  }
  return pages;
}

const nameOf = (path: string): string => posix.basename(path, '.md').toLowerCase();
const addressOf = (path: string): string => `${HELP}/${nameOf(path)}`;
const isMissing = (document: Document | undefined, anchor: string | undefined): boolean =>
  document === undefined || (anchor !== undefined && !document.anchors.has(anchor));

const ANCHOR = /^<a id="([\w-]+)">$/;
const COMMENT = /^\s*<!--[\s\S]*?-->\s*$/;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Raw HTML as text, but for the anchors that a document sets, and comments, which nobody is to see. */
function rawHtml(text: string): string {
  const [, id] = ANCHOR.exec(text) ?? [];
  if (id !== undefined) return `<span id="${id}">`;
  if (text === '</a>') return '</span>';
  return COMMENT.test(text) ? '' : escaped(text);
}

/** Renders with links as their words alone. */
const plain = new Marked({
  renderer: {
    html: ({ text }) => (ANCHOR.test(text) || text === '</a>' || COMMENT.test(text) ? '' : escaped(text)),
    link({ tokens }) {
      return this.parser.parseInline(tokens);
    },
    image: ({ text }) => escaped(text),
  },
});
const inline = (tokens: Token[] = []): string => plain.Parser.parseInline(tokens, plain.defaults);
/** The words of a text with markup. */
const wordsOf = (tokens: Token[] = []): string =>
  tokens
    .map((token) => {
      if (token.type === 'html') return '';
      return 'tokens' in token && token.tokens
        ? wordsOf(token.tokens)
        : 'text' in token
          ? String(token.text)
          : token.raw;
    })
    .join('');

function readDocument(path: string, text: string): Document {
  const tokens = plain.lexer(text);
  const headings = new Map<Token, Heading>();
  // The anchors that a document sets are what it means by them, whatever its headings are called.
  const anchors = new Set<string>();
  void plain.walkTokens(tokens, (token) => {
    for (const own of anchorsOf([token])) anchors.add(own);
  });
  void plain.walkTokens(tokens, (token) => {
    if (token.type !== 'heading') return;
    const { tokens: within, depth } = token as Tokens.Heading;
    const wanted = anchorOf(wordsOf(within));
    const hasOwn = anchorsOf(within).includes(wanted);
    const id = hasOwn ? wanted : freshAnchor(wanted, anchors);
    anchors.add(id);
    headings.set(token, { depth, id, hasOwn, html: inline(within) });
  });
  const [title] = headings.values();
  if (title?.depth !== 1) throw new Error(`${path} does not begin with its title.`);
  const first = tokens.find((token): token is Tokens.Paragraph => token.type === 'paragraph');
  const [about] = /^[\s\S]*?[.](?=\s|$)/.exec(inline(first?.tokens)) ?? [''];
  return { path, title: title.html, about, tokens, headings, anchors };
}

/** The anchors that are set among the tokens. */
const anchorsOf = (tokens: readonly Token[]): readonly string[] =>
  tokens.flatMap((token) => (token.type === 'html' ? (ANCHOR.exec(token.raw)?.slice(1) ?? []) : []));

/** The anchor of a heading as the hosts of repositories make it. */
const anchorOf = (words: string): string =>
  words
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Several that are alike have a number from the second one on. */
function freshAnchor(anchor: string, taken: ReadonlySet<string>): string {
  for (let number = 0; ; number += 1) {
    const id = number === 0 ? anchor : `${anchor}-${number}`;
    if (!taken.has(id)) return id;
  }
}

/**
 * The address to which a link of the document leads; undefined where nothing is served.
 * @throws Error as `helpPages`
 */
function targetOf(href: string, from: Document, documents: ReadonlyMap<string, Document>): string | undefined {
  if (/^https?:\/\//.test(href)) return href;
  // An address of e-mail in a sentence is an example, and nobody's.
  if (href.startsWith('mailto:')) return undefined;
  if (/^[a-z][a-z0-9+.-]*:|^\//i.test(href)) throw new Error(`${from.path}: no link may lead to ${href}`);
  const [file = '', anchor] = href.split('#');
  const path = file === '' ? from.path : posix.normalize(posix.join(posix.dirname(from.path), file));
  const document = documents.get(path);
  if (!document) return SERVED_FILES.get(path);
  if (isMissing(document, anchor)) throw new Error(`${from.path}: the link to ${href} leads to no heading`);
  const fragment = anchor === undefined ? '' : `#${anchor}`;
  return document === from && fragment !== '' ? fragment : addressOf(path) + fragment;
}

/** The content of a document. */
function bodyOf(document: Document, documents: ReadonlyMap<string, Document>): string {
  const marked = new Marked({
    renderer: {
      html: ({ text, type, block }: Tokens.HTML | Tokens.Tag) =>
        type === 'html' && block && rawHtml(text) !== '' ? `<p>${rawHtml(text)}</p>\n` : rawHtml(text),
      heading(token) {
        const { id = '', hasOwn = false } = document.headings.get(token) ?? {};
        return `<h${token.depth}${hasOwn ? '' : ` id="${id}"`}>${this.parser.parseInline(token.tokens)}</h${token.depth}>\n`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        const target = targetOf(href, document, documents);
        if (target === undefined) return words;
        const outside = /^https?:/.test(target) ? ' rel="noreferrer"' : '';
        return `<a href="${escaped(target)}"${outside}>${words}</a>`;
      },
      image: ({ text }) => escaped(text),
      // It may be wider than the window, and is then scrolled by keys as well.
      code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}\n</code></pre>\n`,
      table(token) {
        const labels = token.header.map(({ tokens }) => wordsOf(tokens));
        const cells = (tag: 'td' | 'th', row: readonly Tokens.TableCell[]): string =>
          row
            .map(({ tokens }, at) => {
              // On a narrow screen each cell is a line of its own, and says of which column it is.
              const label = tag === 'td' && labels[at] ? ` data-label="${escaped(labels[at])}"` : '';
              // A column without a name has no heading that a screen reader could read out.
              const element = tokens.length === 0 ? 'td' : tag;
              return `<${element}${label}>${this.parser.parseInline(tokens)}</${element}>`;
            })
            .join('');
        const rows = token.rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n');
        const table = `<table>\n<thead><tr>${cells('th', token.header)}</tr></thead>\n<tbody>\n${rows}\n</tbody>\n</table>\n`;
        return labels.length < WIDE_FROM ? table : `<div class="wide" tabindex="0">\n${table}</div>\n`;
      },
    },
  });
  return marked.parser([...document.tokens]);
}

function documentPage(document: Document, documents: ReadonlyMap<string, Document>, files: PanelFiles): string {
  const body = bodyOf(document, documents);
  const parts = [...document.headings.values()].filter(({ depth }) => depth === 2 || depth === 3);
  const contents = parts
    .map(({ depth, id, html }) => `<li${depth === 3 ? ' class="within"' : ''}><a href="#${id}">${html}</a></li>`)
    .join('\n');
  const nav = `<nav aria-label="On this page" tabindex="0"><details><summary>On this page</summary>\n<ul>\n${contents}\n</ul>\n</details></nav>\n`;
  return frame({ title: document.title, nav: parts.length > 1 ? nav : '', body }, files);
}

function indexPage(documents: ReadonlyMap<string, Document>, files: PanelFiles): string {
  const entryOf = (name: string): string => {
    const document = documents.get(`docs/${name}`);
    if (!document) return '';
    return `<dt><a href="${addressOf(document.path)}">${document.title}</a></dt>\n<dd>${document.about}</dd>\n`;
  };
  const groups = GROUPS.map(([title, names]) => `<h2>${title}</h2>\n<dl>\n${names.map(entryOf).join('')}</dl>\n`);
  return frame({ title: 'Documents', nav: '', body: `<h1>Documents</h1>\n${groups.join('')}` }, files);
}

function frame(
  { title, nav, body }: { readonly title: string; readonly nav: string; readonly body: string },
  { stylesheets, icon }: PanelFiles,
): string {
  const links = stylesheets.map((path) => `    <link rel="stylesheet" href="${path}" />\n`).join('');
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>${title.replaceAll(/<[^>]*>/g, '')} · Muster</title>
    <link rel="icon" href="${icon}" type="image/svg+xml" />
${links}  </head>
  <body class="help">
    <a class="button primary skip" href="#content">Skip to the content</a>
    <header>
      <a class="brand" href="/"><img src="${icon}" alt="" />Muster</a>
      <a href="${HELP}">Documents</a>
    </header>
${nav}<main id="content" tabindex="-1">
${body}</main>
  </body>
</html>
`;
}
