import type { PublicAddresses } from '../api/contract/panel/addresses.ts';
import { localUrl } from '../config/addresses.ts';
import type { Config, ListenAddress } from '../config/config.ts';
import type { PanelConfig } from '../config/panel.ts';
import { VERSION } from '../version.ts';

type Listening = Readonly<Record<'api' | 'device', ListenAddress>>;

/**
 * The addresses at which clients reach the listeners: those that the configuration names, else the listeners' own.
 * @param listening the listeners of this process; port 0 where another one has them
 */
export function publicUrlsOf(
  config: Pick<Config, 'listen' | 'tls' | 'opamp'>,
  panel: Pick<PanelConfig, 'apiUrl' | 'deviceUrl'>,
  listening: Listening | undefined,
): PublicAddresses {
  const own = (name: keyof Listening): string =>
    localUrl(
      config.tls[name] ? 'https' : 'http',
      config.listen[name].host,
      listening?.[name].port || config.listen[name].port,
    );
  const device = panel.deviceUrl ?? own('device');
  return {
    api: { url: panel.apiUrl ?? own('api'), configured: panel.apiUrl !== undefined },
    device: { url: device, configured: panel.deviceUrl !== undefined },
    opampUrl: config.opamp.url ?? device + config.opamp.path,
    image: `muster:${VERSION}`,
  };
}
