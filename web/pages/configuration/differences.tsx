import type { ConfigurationRevision } from '../../api/panel.ts';
import { configuration as texts } from '../../text/configuration.ts';
import { Table } from '../../ui/table.tsx';

/** What a revision, and the configuration that is stored now, have in common. */
type Content = Pick<ConfigurationRevision, 'enabled' | 'endpoint' | 'authHeaderSet' | 'evidenceLevel'>;

/** A field in which two revisions differ. */
interface Difference {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** The fields in which two revisions differ, in words; of the header, whether there is one. */
function differencesBetween(before: Content, after: Content): readonly Difference[] {
  const [was, is] = [wordsOf(before), wordsOf(after)];
  return was.flatMap(([what, text], at) => {
    const next = is[at]?.[1] ?? '';
    return text === next ? [] : [{ what, before: text, after: next }];
  });
}

function wordsOf({ enabled, endpoint, authHeaderSet, evidenceLevel }: Content): readonly (readonly [string, string])[] {
  const { on, off, none, headerStored } = texts.dialog;
  return [
    [texts.enabled, enabled ? on : off],
    [texts.endpoint, endpoint || none],
    [texts.header, authHeaderSet ? headerStored : none],
    [texts.evidence, evidenceLevel],
  ];
}

interface DifferencesProps {
  readonly before: Content;
  readonly after: Content;
  /** The headings of the two. */
  readonly names: readonly [before: string, after: string];
  /** The sentence where they do not differ. */
  readonly same: string;
}

/** The fields in which two revisions differ. */
export function Differences({ before, after, names, same }: DifferencesProps) {
  const rows = differencesBetween(before, after);
  if (rows.length === 0) return <p role="status">{same}</p>;
  return (
    <Table
      caption={texts.revisions.differences}
      rows={rows}
      idOf={({ what }) => what}
      columns={[
        { name: texts.dialog.what, names: true, cell: ({ what }) => what },
        { name: names[0], cell: (row) => <bdi>{row.before}</bdi> },
        { name: names[1], cell: (row) => <bdi>{row.after}</bdi> },
      ]}
    />
  );
}
