import { reference as texts } from '../../text/operator.ts';
import { Card, Page } from '../../ui/page.tsx';

/** Where the reference of the APIs is. */
export const ReferencePage = () => (
  <Page title={texts.title} lead={texts.lead}>
    <Card>
      <div class="stack">
        <div>
          <a class="button primary" href="/docs" target="_blank" rel="noreferrer">
            {texts.open}
          </a>
        </div>
        <h2>{texts.documents}</h2>
        <ul>
          {Object.entries(texts.names).map(([name, says]) => (
            <li key={name}>
              <a href={`/openapi/${name}.json`}>{says}</a>
            </li>
          ))}
        </ul>
        <p class="quiet">{texts.note}</p>
      </div>
    </Card>
  </Page>
);
