/** A documented value of values.yaml. */
export interface ValueRow {
  readonly path: string;
  /** The text of `# --` above it, as one line. */
  readonly says: string;
}

/**
 * The keys of values.yaml with the words above them, in their order. It reads what the file has: maps of two blanks.
 */
export function documentedValues(text: string): { readonly rows: ValueRow[]; readonly undocumented: string[] } {
  const rows: ValueRow[] = [];
  const undocumented: string[] = [];
  let open: { indent: number; key: string; documented: boolean }[] = [];
  let says: string[] | undefined;
  for (const line of text.split('\n')) {
    const comment = /^ *# ?(-- )?(.*)$/.exec(line);
    if (comment) {
      if (comment[1] !== undefined) says = [comment[2] ?? ''];
      else says?.push(comment[2] ?? '');
      continue;
    }
    const [, blanks = '', key, value = ''] = /^( *)([A-Za-z]\w*):(.*)$/.exec(line) ?? [];
    if (key !== undefined) {
      open = open.filter(({ indent }) => indent < blanks.length);
      const within = open.some(({ documented }) => documented);
      const path = [...open.map(({ key }) => key), key].join('.');
      if (says) rows.push({ path, says: says.join(' ').trim() });
      else if (value.trim() !== '' && !within) undocumented.push(path);
      open.push({ indent: blanks.length, key, documented: says !== undefined });
    }
    says = undefined;
  }
  return { rows, undocumented };
}
