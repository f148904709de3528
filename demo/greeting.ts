import type { Urls } from './http.ts';

const field = (name: string): string => `sed 's/.*"${name}":"\\([^"]*\\)".*/\\1/'`;

/**
 * Three lines for any POSIX shell, to be pasted one after the other: each leaves the values that the next one needs.
 */
export function curlLines({ api, device }: Urls, apiKey: string): readonly [string, string, string] {
  const poll = `curl -sS ${device}/device/v1/config -H "Authorization: Bearer $CREDENTIAL"; echo`;
  const enrollment = `'{"appId":"'$APP_ID'","enrollCode":"'$CODE'","platform":"linux","agentVersion":"1.0.0","connection":"cloud"}'`;
  const otel = `'{"enabled":true,"endpoint":"https://otel.example.com","authHeader":"Bearer collector-secret"}'`;
  return [
    `KEY=${apiKey}; APP=$(curl -sS -X POST ${api}/v1/apps -H "Authorization: Bearer $KEY" -d '{"name":"first daemon"}'); echo "$APP"`,
    `APP_ID=$(echo "$APP" | ${field('appId')}); CODE=$(echo "$APP" | ${field('enrollCode')}); ` +
      `CREDENTIAL=$(curl -sS -X POST ${device}/device/v1/enroll -d ${enrollment} | ${field('credential')}); ${poll}`,
    `curl -sS -X PUT ${api}/v1/otel-config -H "Authorization: Bearer $KEY" -d ${otel}; echo; ${poll}`,
  ];
}

export function greeting(urls: Urls, apiKey: string, dataDir: string): string {
  const [create, enroll, configure] = curlLines(urls, apiKey);
  return `
Muster is running; its data lies in ${dataDir}.

  API        ${urls.api}      accounts and automation
  devices    ${urls.device}      daemons
  operator   ${urls.ops}      probes, metrics, accounts and keys
  API key    ${apiKey}

Paste these one after the other in another terminal.

1. Create an app:

${create}

2. Enroll as its daemon, and poll for the configuration:

${enroll}

3. Set the collector for the fleet, and see it arrive with the next poll:

${configure}

Ctrl-C ends it.
`;
}
