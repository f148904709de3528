import { reference as texts } from '../../text/operator.ts';
import { Icon } from '../../ui/icons.tsx';
import { Card, Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';

/** Where the reference of the APIs is, and who calls which of them. */
export const ReferencePage = () => (
  <Page
    title={texts.title}
    lead={texts.lead}
    actions={
      <a class="button primary" href="/docs" target="_blank" rel="noreferrer">
        <Icon name="reference" />
        {texts.open}
      </a>
    }
  >
    <Card title={texts.apis}>
      <Table
        caption={texts.caption}
        rows={texts.rows}
        idOf={({ name }) => name}
        columns={[
          { name: texts.columns.api, names: true, cell: ({ path }) => <code>{path}</code> },
          { name: texts.columns.who, cell: ({ who }) => who },
          { name: texts.columns.secret, cell: ({ secret }) => secret },
          { name: texts.columns.listener, cell: ({ listener }) => <code>{listener}</code> },
        ]}
      />
    </Card>
    <Card title={texts.documents}>
      <div class="stack">
        <p>{texts.documentsSay}</p>
        <p>
          <a href="/openapi/v1.json">{texts.document}</a>
        </p>
        <p class="quiet">{texts.note}</p>
      </div>
    </Card>
  </Page>
);
