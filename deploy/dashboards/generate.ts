import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BOARDS, boardText } from './boards.ts';

/** `npm run dashboards`: writes the files that the chart and compose.yaml hand to Grafana. */
const folder = join(import.meta.dirname, '../../charts/muster/files/dashboards');
mkdirSync(folder, { recursive: true });
for (const board of BOARDS) writeFileSync(join(folder, `${board.name}.json`), boardText(board));
